/** The audit log, the newest first: who asked for what, and what ran for it. */
import type { AuditLine } from "../../../../operations/finding.ts";
import { sessionAddress } from "../addresses.ts";
import { getAudit, getThreadFacets } from "../api.ts";
import { element, timeElement } from "../dom.ts";
import { createAuditFilters } from "./audit-filters.ts";
import { type Column, emptyNote, failure, table } from "./report.ts";
import { namePlatform } from "./thread-words.ts";

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
  let next: number | undefined;
  /** What was asked for before the newest change of a filter comes too late. */
  let asked = 0;
  const body = element("div", {}, emptyNote("Loading…"));
  const older = element(
    "button",
    { type: "button", class: "action earlier", hidden: true, onclick: load },
    "Show older entries",
  );
  const command = element("code", {}, "npm run heddle -- audit verify");
  const proof = element("p", { class: "soft proof" }, "To verify that the log is intact, run ", command, ".");
  const filters = createAuditFilters(begin);
  root.replaceChildren(proof, filters.element, body, older);
  begin();
  // Without them the log can be read, and filtered by the rest.
  getThreadFacets().then(filters.offer, () => undefined);

  function begin(): void {
    entries = [];
    next = undefined;
    void load();
  }

  async function load(): Promise<void> {
    const own = ++asked;
    const isLate = () => closed || own !== asked;
    try {
      const page = await getAudit({ ...filters.read(), before: next });
      if (isLate()) return;
      entries = [...entries, ...page.lines];
      next = page.before;
      older.hidden = next === undefined;
      show();
    } catch (error) {
      if (!isLate()) body.replaceChildren(failure(error, load));
    }
  }

  function show(): void {
    const rows = entries.map(({ n, at, what, by, thread, place, title, rest, ids }) => [
      String(n),
      timeElement(at),
      element("strong", {}, what),
      by,
      thread
        ? element(
            "span",
            { class: "audit-thread" },
            element("a", { href: sessionAddress(thread), title: thread }, title ?? place),
            element("span", { class: "soft" }, place.replace(/^\w+(?= · )/, namePlatform)),
          )
        : "",
      element("span", { class: "soft" }, rest.text, rest.omitted ? " …" : "", ...foldIds(ids)),
    ]);
    const isWhole = Object.values(filters.read()).every((value) => value === undefined);
    const none = isWhole
      ? "The log is empty. It will show who asked for what, and what ran for it."
      : next === undefined
        ? "No entry is like that."
        : "No entry among those looked at is like that. Show older entries to look further.";
    body.replaceChildren(
      rows.length > 0
        ? element("div", { class: "audit" }, table("Audit log", columns, rows))
        : emptyNote(none),
    );
  }

  return () => {
    closed = true;
  };
}

function foldIds(ids: AuditLine["ids"]): HTMLElement[] {
  if (ids.length === 0) return [];
  const pairs = ids.map(({ name, value }) => element("p", {}, `${name}: `, element("code", {}, value)));
  return [element("details", { class: "folded" }, element("summary", {}, "Ids"), ...pairs)];
}
