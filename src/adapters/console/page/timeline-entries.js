/** The entries of a timeline. A tool's result is shown with its call, wherever the two come from. */
import { element, icon, timeElement } from "./dom.js";
import { excerptOf, figuresOf, folded, imagesOf, omittedOf, sizes } from "./entry-parts.js";
import { counted, formatDuration } from "./format.js";
import { renderMarkdown } from "./render.js";
import { decisionOf, endingOf } from "./states.js";
import { toolCall } from "./tool-call.js";

/** More are not kept on the page; what is older can be shown again. */
const mostEntries = 600;

export class Entries {
  #list;
  #calls = new Map();
  /** Results whose call is on no page that was loaded. */
  #orphans = new Map();
  /** When each turn began. */
  #started = new Map();
  /** Position of the first entry, and of the one that comes next. */
  first = 0;
  #next = 0;

  constructor(list) {
    this.#list = list;
  }

  /** Adds what follows; what is there already is left alone. */
  append(entries, from) {
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
    while (this.#list.childElementCount > mostEntries) {
      this.#list.firstElementChild.remove();
      this.first = Number(this.#list.firstElementChild.dataset.position);
    }
  }

  prepend(entries, from) {
    const lines = entries.map((entry) => this.#line(entry)).filter((line) => line !== null);
    this.#list.prepend(...lines);
    this.first = from;
  }

  /** Something that is said at this moment and stored nowhere. */
  say(kind, text) {
    const words = kind === "retry" ? "Retry" : "Notice";
    const line = item("aside-entry", icon("waiting"), element("strong", {}, words), " ", text);
    line.dataset.position = this.#next;
    this.#list.append(line);
  }

  /** Null when the entry is shown as a part of another one. */
  #line(entry) {
    const line = this.#content(entry);
    if (line) line.dataset.position = entry.position;
    return line;
  }

  #content(entry) {
    switch (entry.kind) {
      case "turn-start":
        this.#started.set(entry.turn, entry.at);
        return item("turn", element("h3", {}, `Turn ${entry.turn}`), timeElement(entry.at));
      case "message":
        return item(
          "said",
          element("p", { class: "who" }, entry.author, imagesOf(entry)),
          element("p", { class: "plain" }, ...excerptOf(entry.text)),
        );
      case "enclosure":
        return item(
          "aside-entry",
          icon("file"),
          element("strong", {}, "What came with it"),
          " ",
          ...excerptOf(entry.text),
          imagesOf(entry),
        );
      case "question":
        return item(
          "aside-entry",
          icon("question"),
          element("strong", {}, `Asked before ${entry.tool}`),
          " ",
          ...excerptOf(entry.text),
        );
      case "decision": {
        const [sign, word] = decisionOf(entry.decision);
        const by = entry.by ? ` by ${entry.by}` : "";
        return item(
          "aside-entry",
          icon(sign),
          element("strong", {}, `${word}${by}`),
          " ",
          ...excerptOf(entry.text),
        );
      }
      case "withdrawn":
        return item("aside-entry", icon("stopped"), "A message was taken back before a model saw it.");
      case "unreadable":
        return item(
          "aside-entry",
          icon("failed"),
          element("strong", {}, "A record that cannot be read is left out here"),
          " ",
          ...excerptOf(entry.text),
        );
      case "nudge":
        return item(
          "aside-entry",
          icon("taken"),
          element("strong", {}, "Heddle to the model"),
          " ",
          ...excerptOf(entry.text),
        );
      case "model":
        return this.#model(entry);
      case "tool-start":
        this.#calls.get(entry.call)?.started();
        return null;
      case "tool-result":
        return this.#result(entry);
      case "trim":
        return item(
          "aside-entry",
          icon("down"),
          `The results of ${counted(entry.calls, "older call")} were cut short${sizes(entry)}.`,
        );
      case "summary":
        return item(
          "compaction",
          element(
            "p",
            {},
            icon("down"),
            `Older messages were replaced by a summary${sizes(entry)}; ${counted(entry.kept, "message")} kept.`,
          ),
          figuresOf(entry.figures),
          folded("The summary", entry.text),
        );
      case "turn-end":
        return ending(entry, this.#started.get(entry.turn));
      default:
        return item(
          "aside-entry",
          `A record of the kind ${entry.kind}, which this page does not know: reload it.`,
        );
    }
  }

  #model({ step, model, text, thinking, troubles, calls, figures, tookMs, at }) {
    const tools = calls.map((call) => {
      const shown = toolCall(call.name, call.arguments);
      this.#calls.set(call.id, shown);
      const orphan = this.#orphans.get(call.id);
      if (orphan) {
        shown.ended(orphan.entry);
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
        element("span", {}, model),
        ...(tookMs === undefined
          ? []
          : [element("span", { title: "from the record before, retries included" }, formatDuration(tookMs))]),
        timeElement(at),
      ),
      figuresOf(figures),
      ...(troubles.text
        ? [element("p", { class: "trouble" }, icon("waiting"), element("span", {}, ...excerptOf(troubles)))]
        : []),
      ...(thinking.text ? [folded("Thinking", thinking)] : []),
      ...(text.text
        ? [element("div", { class: "body" }, ...renderMarkdown(text.text), ...omittedOf(text))]
        : []),
      ...tools,
    );
  }

  #result(entry) {
    const shown = this.#calls.get(entry.call);
    if (shown) {
      shown.ended(entry);
      return null;
    }
    const alone = toolCall(entry.name, { text: "", omitted: 0 });
    alone.ended(entry);
    const line = item("model", alone.element);
    this.#orphans.set(entry.call, { entry, line });
    return line;
  }
}

function item(kind, ...children) {
  return element("li", { class: `entry ${kind}` }, ...children);
}

function ending({ ended, detail, text, steps, figures, at }, startedAt) {
  const took = startedAt === undefined ? "" : ` · ${formatDuration(at - startedAt)}`;
  const [sign, word] = endingOf(ended);
  return item(
    `end ${sign}`,
    element(
      "p",
      {},
      icon(sign),
      element("strong", {}, word),
      detail ? ` ${detail}` : "",
      ` · ${counted(steps, "step")}${took}`,
    ),
    figuresOf(figures),
    ...(text.text ? [element("div", { class: "body" }, ...renderMarkdown(text.text))] : []),
  );
}
