/** The audit log, the newest first: who asked for what, and what ran for it. */
import { getAudit } from "./api.js";
import { sessionAddress } from "./all-threads.js";
import { element, timeElement } from "./dom.js";
import { emptyNote, failure, table } from "./report.js";

/** Shows the page in `root`; returns what ends it. */
export function openAudit(root) {
  let closed = false;
  let entries = [];
  const body = element("div", {}, emptyNote("Loading…"));
  const older = element(
    "button",
    { type: "button", class: "action earlier", hidden: true, onclick: load },
    "Show older entries",
  );
  const command = element("code", {}, "npm run heddle -- audit verify");
  const proof = element("p", { class: "soft proof" }, "Whether the log is whole is proven by ", command, ".");
  root.replaceChildren(proof, body, older);
  void load();

  async function load() {
    try {
      const page = await getAudit(entries.at(-1)?.n);
      if (closed) return;
      entries = [...entries, ...page];
      older.hidden = page.length === 0 || entries.at(-1).n === 1;
      show();
    } catch (error) {
      if (!closed) body.replaceChildren(failure(error, load));
    }
  }

  function show() {
    const columns = [
      ["Number", true],
      ["Time", false],
      ["What", false],
      ["Who", false],
      ["Thread", false],
      ["More", false],
    ];
    const rows = entries.map(({ n, at, what, by, thread, place, rest }) => [
      String(n),
      timeElement(at),
      element("strong", {}, what),
      by,
      thread ? element("a", { href: sessionAddress(thread), title: thread }, place) : "",
      element("span", { class: "soft" }, rest.text, rest.omitted ? " …" : ""),
    ]);
    body.replaceChildren(
      rows.length > 0
        ? element("div", { class: "audit" }, table("Audit log", columns, rows))
        : emptyNote("Nothing is in the log yet. It tells who asked for what as soon as somebody does."),
    );
  }

  return () => (closed = true);
}
