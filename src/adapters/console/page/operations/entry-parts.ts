/** What the entries of a timeline have in common. */
import type { Excerpt } from "../../../../operations/finding.ts";
import type { Figures } from "../../../../operations/reports.ts";
import { type Child, element } from "../dom.ts";
import { formatCost, formatCount, pluralize, sumTokens } from "../format.ts";

/** Tokens read from a cache apart: they cost a tenth. */
export function figuresOf(figures: Figures): HTMLElement {
  const parts: [name: string, tokens: number][] = [
    ["in", figures.input],
    ["from cache", figures.cacheRead],
    ["to cache", figures.cacheWrite],
    ["out", figures.output],
  ];
  return element(
    "p",
    {
      class: "figures",
      title: `${formatCount(sumTokens(figures))} tokens, ${pluralize(figures.calls, "model call")}`,
    },
    ...parts
      .filter(([, tokens]) => tokens > 0)
      .map(([name, tokens]) => element("span", {}, `${formatCount(tokens)} ${name}`)),
    element("span", {}, formatCost(figures.cost, figures.priceUnknown)),
  );
}

/** Tokens of the next request, before and after. */
export function formatSizes({ before, after }: { before?: number; after?: number }): string {
  return before === undefined || after === undefined
    ? ""
    : `: ${formatCount(before)} → ${formatCount(after)} tokens`;
}

export function foldExcerpt(title: string, excerpt: Excerpt): HTMLElement {
  return element("details", { class: "folded" }, element("summary", {}, title), renderExcerpt(excerpt));
}

function renderExcerpt(excerpt: Excerpt): HTMLElement {
  return element("pre", { tabindex: "0" }, excerpt.text || "(empty)", ...renderOmitted(excerpt));
}

export function excerptOf(excerpt: Excerpt): Child[] {
  return [excerpt.text, ...renderOmitted(excerpt)];
}

export function renderOmitted({ omitted }: Excerpt): HTMLElement[] {
  return omitted ? [element("em", { class: "omitted" }, ` … ${pluralize(omitted, "more character")}`)] : [];
}

export function imagesOf(images = 0): Child {
  return images ? element("span", { class: "soft" }, ` · ${pluralize(images, "image")}`) : "";
}
