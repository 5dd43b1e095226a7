/** What the entries of a timeline have in common. */
import { element } from "./dom.js";
import { counted, formatCost, formatCount, tokensOf } from "./format.js";

/** Tokens read from a cache apart: they cost a tenth. */
export function figuresOf(figures) {
  const parts = [
    ["in", figures.input],
    ["from cache", figures.cacheRead],
    ["to cache", figures.cacheWrite],
    ["out", figures.output],
  ].filter(([, tokens]) => tokens > 0);
  return element(
    "p",
    {
      class: "figures",
      title: `${formatCount(tokensOf(figures))} tokens, ${counted(figures.calls, "model call")}`,
    },
    ...parts.map(([name, tokens]) => element("span", {}, `${formatCount(tokens)} ${name}`)),
    element("span", {}, formatCost(figures.cost, figures.priceUnknown)),
  );
}

export function sizes({ before, after }) {
  return before === undefined ? "" : `: ${formatCount(before)} → ${formatCount(after)} tokens`;
}

export function folded(title, excerpt) {
  return element("details", { class: "folded" }, element("summary", {}, title), block(excerpt));
}

export function block(excerpt) {
  return element("pre", { tabindex: "0" }, excerpt.text || "(nothing)", ...omittedOf(excerpt));
}

export function excerptOf(excerpt) {
  return [excerpt.text, ...omittedOf(excerpt)];
}

export function omittedOf({ omitted }) {
  return omitted
    ? [element("em", { class: "omitted" }, ` … ${counted(omitted, "character")} more are not shown`)]
    : [];
}

export function imagesOf({ images }) {
  return images ? element("span", { class: "soft" }, ` · ${counted(images, "image")}`) : "";
}
