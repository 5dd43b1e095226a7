/** The parts that the operator's pages are built from. */
import { element, icon } from "./dom.js";

/** A part of a page under a heading. */
export function section(title, ...children) {
  return element("section", { class: "section" }, element("h3", {}, title), ...children);
}

/** What stands where there is nothing yet, and what to do about it. */
export function emptyNote(...children) {
  return element("p", { class: "nothing" }, ...children);
}

/** Why a page could not be shown. */
export function failure(error, onRetry) {
  return element(
    "div",
    { class: "failure", role: "alert" },
    icon("failed"),
    element("p", {}, error.message),
    element("button", { type: "button", class: "action", onclick: onRetry }, "Try again"),
  );
}

/** A word with its sign, so that neither colour nor shape has to say it alone. */
export function chip(sign, word) {
  return element("span", { class: `chip ${sign}` }, icon(sign), word);
}

/** `columns` are `[name, isNumber]`; cells are text or elements. */
export function table(caption, columns, rows) {
  const head = columns.map(([name, isNumber]) =>
    element("th", { scope: "col", class: isNumber ? "number" : "" }, name),
  );
  const cell = (content, index) =>
    index === 0
      ? element("th", { scope: "row" }, content)
      : element("td", { class: columns[index][1] ? "number" : "" }, content);
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
export function facts(pairs) {
  return element(
    "dl",
    { class: "pairs" },
    ...pairs.flatMap(([term, value]) => [element("dt", {}, term), element("dd", {}, value)]),
  );
}
