/** JSON as a tree that folds. A part of it is made when it is unfolded. */
import { element } from "../dom.ts";
import { pluralize } from "../format.ts";

/** Of one object or list; more are shown when somebody asks. */
const shownAtOnce = 200;
/** Unfolded to begin with. */
const openDepth = 2;

/** A number as it is written. */
class WrittenNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What a text says in JSON, to be rendered. The browser would round long numbers, as ids are. @throws SyntaxError */
export function parseJson(text: string): unknown {
  const keepNumber = (_name: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" && context?.source !== undefined ? new WrittenNumber(context.source) : value;
  return /\d{16}/.test(text) ? JSON.parse(text, keepNumber) : JSON.parse(text);
}

export function renderJson(value: unknown): HTMLElement {
  return element("div", { class: "json" }, renderValue("", value, 0));
}

function renderValue(name: string, value: unknown, depth: number): HTMLElement {
  const key = name === "" ? [] : [element("span", { class: "json-key" }, name), ": "];
  if (typeof value !== "object" || value === null || value instanceof WrittenNumber) {
    return element(
      "div",
      { class: "json-leaf" },
      ...key,
      element("span", { class: `json-${kindOf(value)}` }, writeLeaf(value)),
    );
  }
  const isList = Array.isArray(value);
  const entries: [string, unknown][] = Object.entries(value);
  const size = pluralize(entries.length, isList ? "item" : "key");
  const [open, close] = isList ? "[]" : "{}";
  if (entries.length === 0) return element("div", { class: "json-leaf" }, ...key, `${open}${close}`);
  const summary = element(
    "summary",
    {},
    ...key,
    `${open} `,
    element("span", { class: "soft" }, size),
    ` ${close}`,
  );
  const content = element("div", { class: "json-inside" });
  const fold = element("details", {}, summary, content);
  const fill = () => {
    if (fold.open && !content.firstChild) addEntries(content, entries, 0, depth + 1);
  };
  fold.addEventListener("toggle", fill);
  fold.open = depth < openDepth && entries.length <= shownAtOnce;
  fill();
  return fold;
}

function addEntries(content: HTMLElement, entries: [string, unknown][], from: number, depth: number): void {
  const shown = entries.slice(from, from + shownAtOnce);
  content.append(...shown.map(([name, value]) => renderValue(name, value, depth)));
  const left = entries.length - from - shown.length;
  if (left === 0) return;
  const more = element(
    "button",
    { type: "button", class: "action" },
    `Show ${pluralize(left, "more", "more")}`,
  );
  more.addEventListener("click", () => {
    more.remove();
    addEntries(content, entries, from + shownAtOnce, depth);
  });
  content.append(more);
}

function writeLeaf(value: unknown): string {
  return value instanceof WrittenNumber ? value.text : JSON.stringify(value);
}

function kindOf(value: unknown): string {
  return typeof value === "string" ? "string" : "other";
}
