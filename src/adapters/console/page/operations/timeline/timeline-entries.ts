/** The entries of a timeline. A tool's result is shown with its call, wherever the two come from. */
import type { TransientEvent, TimelineEntry } from "../../../../../operations/timeline/timeline-entry.ts";
import { element, icon } from "../../dom.ts";
import { formatDuration, pluralize } from "../../format.ts";
import { decisionOf } from "../../states.ts";
import {
  bodyOf,
  excerptOf,
  figuresOf,
  foldExcerpt,
  formatSizes,
  imagesOf,
  item,
  nameModel,
  renderEnding,
  timeOf,
} from "./entry-parts.ts";
import { toolCall, type ToolCallView, type ToolResult } from "./tool-call.ts";

type EntryOf<Kind extends TimelineEntry["kind"]> = Extract<TimelineEntry, { kind: Kind }>;

/** More elements are not kept on the page: what is farthest away goes, and comes back when somebody goes there. */
const mostElements = 2_000;
/** Of so many entries none goes, whatever they hold. */
const leastEntries = 20;

/** What the entries do not know of themselves. */
interface Around {
  /** What stands with the heading of a turn. */
  headTurn(turn: string): HTMLElement;
  /** The page's address of a record. */
  addressOf(position: number): string;
}

export class Entries {
  readonly #list: HTMLElement;
  readonly #around: Around;
  readonly #calls = new Map<string, ToolCallView>();
  /** Results whose call is on no page that was loaded. */
  readonly #orphans = new Map<string, { entry: ToolResult; line: HTMLElement }>();
  /** Where the results are shown whose call has a line of its own. */
  readonly #results = new Map<number, HTMLElement>();
  /** When each turn began. */
  readonly #startedAt = new Map<string, number>();
  /** Position of the first entry, and of the one that comes next. */
  first = 0;
  #next = 0;
  /** Whether calls come unfolded. */
  areUnfolded = false;

  constructor(list: HTMLElement, around: Around) {
    this.#list = list;
    this.#around = around;
  }

  /** Position of the record behind the last. */
  get next(): number {
    return this.#next;
  }

  /** Takes everything off the page: another part of the journal is to be shown. */
  clear(): void {
    for (const known of [this.#calls, this.#orphans, this.#results]) known.clear();
    this.#list.replaceChildren();
  }

  /** What shows the record; undefined where it is not on the page. */
  find(position: number): HTMLElement | undefined {
    if (position < this.first || position >= this.#next) return undefined;
    const lines = [...this.#list.querySelectorAll<HTMLElement>(":scope > [data-position]")];
    return this.#results.get(position) ?? lines.findLast((line) => Number(line.dataset.position) <= position);
  }

  /** Adds what follows; what is there already is left alone. */
  append(entries: TimelineEntry[], from: number): void {
    if (this.#list.childElementCount === 0) {
      this.first = from;
      this.#next = from;
    }
    for (const entry of entries) {
      if (entry.position < this.#next) continue;
      this.#next = entry.position + 1;
      const line = this.#line(entry);
      if (line) this.#list.append(line);
    }
    for (const line of this.#surplus()) {
      this.#forget(line);
      this.first = Number(this.#list.firstElementChild?.getAttribute("data-position"));
    }
  }

  prepend(entries: TimelineEntry[], from: number): void {
    const lines = entries.map((entry) => this.#line(entry)).filter((line) => line !== null);
    this.#list.prepend(...lines);
    this.first = from;
    for (const line of this.#surplus("last")) {
      this.#next = Number(line.getAttribute("data-position"));
      this.#forget(line);
    }
  }

  /** The entries at that end which are too many, one after the other: each has to be taken off before the next. */
  *#surplus(end: "first" | "last" = "first"): Iterable<Element> {
    let elements = this.#list.getElementsByTagName("*").length;
    while (elements > mostElements && this.#list.childElementCount > leastEntries) {
      const line = end === "first" ? this.#list.firstElementChild : this.#list.lastElementChild;
      if (!line) return;
      elements -= line.getElementsByTagName("*").length + 1;
      yield line;
    }
  }

  /** Takes an entry off the page, and with it the calls that it shows. */
  #forget(line: Element): void {
    line.remove();
    for (const [id, call] of this.#calls) if (line.contains(call.element)) this.#calls.delete(id);
    for (const [position, call] of this.#results) if (line.contains(call)) this.#results.delete(position);
    for (const [id, orphan] of this.#orphans) if (orphan.line === line) this.#orphans.delete(id);
  }

  /** Something that is said at this moment and stored nowhere. */
  appendPassing({ kind, text }: TransientEvent): void {
    const words = kind === "retry" ? "Retry" : "Notice";
    const line = item("aside-entry", icon("waiting"), element("strong", {}, words), " ", text);
    line.dataset.position = String(this.#next);
    this.#list.append(line);
  }

  /** Null when the entry is shown as a part of another one. */
  #line(entry: TimelineEntry): HTMLElement | null {
    const line = this.#content(entry);
    if (line) line.dataset.position = String(entry.position);
    return line;
  }

  #content(entry: TimelineEntry): HTMLElement | null {
    switch (entry.kind) {
      case "turn-start":
        if (entry.at !== undefined) this.#startedAt.set(entry.turn, entry.at);
        return item(
          "turn",
          element("h3", {}, `Turn ${entry.turn}`),
          ...timeOf(entry, this.#around),
          this.#around.headTurn(entry.turn),
        );
      case "message":
        return item(
          "said",
          element(
            "p",
            { class: "who" },
            entry.author,
            imagesOf(entry.images),
            ...timeOf(entry, this.#around),
          ),
          element("p", { class: "plain" }, ...excerptOf(entry.text)),
        );
      case "enclosure":
        return item(
          "aside-entry",
          icon("file"),
          element("strong", {}, "Attached"),
          " ",
          element("bdi", {}, ...excerptOf(entry.text)),
          imagesOf(entry.images),
        );
      case "question":
        return item(
          "aside-entry",
          icon("question"),
          element("strong", {}, `Question before ${entry.tool}`),
          // As on the page of open questions: what a server asks in its own words is no Markdown.
          entry.asks === "approval" || entry.asks === "choice"
            ? bodyOf(entry.text)
            : element("p", { class: "plain" }, ...excerptOf(entry.text)),
        );
      case "decision": {
        const [sign, word] = decisionOf(entry.decision);
        const by = entry.by ? ` by ${entry.by}` : "";
        return item(
          "aside-entry",
          icon(sign),
          element("strong", {}, `${word}${by}`),
          " ",
          element("bdi", {}, ...excerptOf(entry.text)),
        );
      }
      case "withdrawn":
        return item("aside-entry", icon("stopped"), "A message was withdrawn before a model saw it.");
      case "unreadable":
        return item(
          "aside-entry",
          icon("failed"),
          element("strong", {}, "A record that cannot be read is left out here"),
          " ",
          element("bdi", {}, ...excerptOf(entry.text)),
        );
      case "nudge":
        return item(
          "aside-entry",
          icon("taken"),
          element("strong", {}, "Heddle to the model"),
          " ",
          element("bdi", {}, ...excerptOf(entry.text)),
        );
      case "model":
        return this.#model(entry);
      case "tool-start":
        this.#calls.get(entry.call)?.showStart();
        return null;
      case "tool-result":
        return this.#result(entry);
      case "trim":
        return item(
          "aside-entry",
          icon("down"),
          `The results of ${pluralize(entry.calls, "older call")} were shortened${formatSizes(entry)}.`,
        );
      case "summary":
        return item(
          "compaction",
          element(
            "p",
            {},
            icon("down"),
            `Older messages were replaced by a summary${formatSizes(entry)}; ${pluralize(entry.kept, "message")} kept.`,
          ),
          figuresOf(entry.figures),
          foldExcerpt("Summary", entry.text),
        );
      case "turn-end":
        return renderEnding(entry, this.#startedAt.get(entry.turn));
      default:
        // An older page on a newer server.
        return item("aside-entry", "A record of an unknown kind: reload the page.");
    }
  }

  #model(entry: EntryOf<"model">): HTMLElement {
    const { step, model, text, thinking, troubles, calls, figures, tookMs } = entry;
    const tools = calls.map((call) => {
      const shown = toolCall(call.name, call.arguments);
      shown.element.toggleAttribute("open", this.areUnfolded);
      this.#calls.set(call.id, shown);
      const orphan = this.#orphans.get(call.id);
      if (orphan) {
        shown.showResult(orphan.entry);
        this.#results.set(orphan.entry.position, shown.element);
        orphan.line.remove();
        this.#orphans.delete(call.id);
      }
      return shown.element;
    });
    return item(
      "model",
      element(
        "p",
        { class: "step" },
        element("strong", {}, `Step ${step}`),
        nameModel(model),
        ...(tookMs === undefined
          ? []
          : [
              element(
                "span",
                { title: "since the previous record, retries included" },
                formatDuration(tookMs),
              ),
            ]),
        ...timeOf(entry, this.#around),
      ),
      figuresOf(figures),
      ...(troubles.text
        ? [element("p", { class: "trouble" }, icon("waiting"), element("span", {}, ...excerptOf(troubles)))]
        : []),
      ...(thinking.text ? [foldExcerpt("Thinking", thinking)] : []),
      ...(text.text ? [bodyOf(text)] : []),
      ...tools,
    );
  }

  #result(entry: ToolResult): HTMLElement | null {
    const shown = this.#calls.get(entry.call);
    if (shown) {
      shown.showResult(entry);
      this.#results.set(entry.position, shown.element);
      return null;
    }
    const alone = toolCall(entry.name, { text: "", omitted: 0 });
    alone.showResult(entry);
    const line = item("model", alone.element);
    this.#orphans.set(entry.call, { entry, line });
    return line;
  }
}
