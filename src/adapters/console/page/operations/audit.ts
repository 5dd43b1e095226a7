/** The audit log, the newest first: who asked for what, and what ran for it. */
import type { AuditLine } from "../../../../operations/operations.ts";
import { sessionAddress } from "../addresses.ts";
import { getAudit } from "../api.ts";
import { element, timeElement } from "../dom.ts";
import { type Column, emptyNote, failure, table } from "./report.ts";

const columns: Column[] = [
  ["Number", true],
  ["Time", false],
  ["Event", false],
  ["By", false],
  ["Thread", false],
  ["Details", false],
];

/** Shows the page in `root`; returns what ends it. */
export function openAudit(root: HTMLElement): () => void {
  let closed = false;
  let entries: AuditLine[] = [];
  const body = element("div", {}, emptyNote("Loading…"));
  const older = element(
    "button",
    { type: "button", class: "action earlier", hidden: true, onclick: load },
    "Show older entries",
  );
  const command = element("code", {}, "npm run heddle -- audit verify");
  const proof = element("p", { class: "soft proof" }, "To verify that the log is intact, run ", command, ".");
  root.replaceChildren(proof, body, older);
  void load();

  async function load(): Promise<void> {
    try {
      const page = await getAudit(entries.at(-1)?.n);
      if (closed) return;
      entries = [...entries, ...page];
      older.hidden = page.length === 0 || entries.at(-1)?.n === 1;
      show();
    } catch (error) {
      if (!closed) body.replaceChildren(failure(error, load));
    }
  }

  function show(): void {
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
        : emptyNote("The log is empty. It will show who asked for what, and what ran for it."),
    );
  }

  return () => {
    closed = true;
  };
}
