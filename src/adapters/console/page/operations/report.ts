/** The parts that the operator's pages are built from. */
import { type Connection, messageOf } from "../transport.ts";
import { type Child, element, icon, type IconName } from "../dom.ts";

/** What a page tells the frame around it. */
export interface Frame extends Connection {
  /** For pages with a stream of their own: the state of a thread has changed. */
  changed(): void;
}

/** Shows a page in `root`; returns what ends it. */
export type OpenPage = (root: HTMLElement, frame: Frame) => () => void;

export type Column = readonly [name: string, isNumber: boolean];

/** A part of a page under a heading. */
export function section(title: string, ...children: Child[]): HTMLElement {
  return element("section", { class: "section" }, element("h3", {}, title), ...children);
}

/** What stands where there is nothing yet, and what to do about it. */
export function emptyNote(text: string): HTMLElement {
  return element("p", { class: "nothing" }, text);
}

/** Why a page could not be shown. */
export function failure(error: unknown, onRetry: () => unknown): HTMLElement {
  return element(
    "div",
    { class: "failure", role: "alert" },
    icon("failed"),
    element("p", {}, messageOf(error)),
    element("button", { type: "button", class: "action", onclick: onRetry }, "Try again"),
  );
}

/** What an operator should do something about. */
export function alert(text: string): HTMLElement {
  return element("div", { class: "failure", role: "alert" }, icon("failed"), element("p", {}, text));
}

/** A word with its sign, so that neither colour nor shape has to say it alone. */
export function chip(sign: IconName, word: string): HTMLElement {
  return element("span", { class: `chip ${sign}` }, icon(sign), word);
}

/** The first cell of a row is its head. */
export function table(caption: string, columns: readonly Column[], rows: Child[][]): HTMLElement {
  const head = columns.map(([name, isNumber]) =>
    element("th", { scope: "col", class: isNumber ? "number" : "" }, name),
  );
  const cell = (content: Child, index: number) =>
    index === 0
      ? element("th", { scope: "row" }, content)
      : element("td", { class: columns[index]?.[1] ? "number" : "" }, content);
  const body = rows.map((row) => element("tr", {}, ...row.map(cell)));
  return element(
    "div",
    { class: "table listing", tabindex: "0", role: "group", "aria-label": caption },
    element(
      "table",
      {},
      element("caption", { class: "unseen" }, caption),
      element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...body),
    ),
  );
}

/** `pairs` of a term and what it is. */
export function facts(pairs: [term: string, value: Child][]): HTMLElement {
  return element(
    "dl",
    { class: "pairs" },
    ...pairs.flatMap(([term, value]) => [element("dt", {}, term), element("dd", {}, value)]),
  );
}
