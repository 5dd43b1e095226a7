/** What the entries of a timeline have in common. */
import type { Excerpt } from "../../../../../operations/finding.ts";
import type { Figures } from "../../../../../operations/reports.ts";
import type { TimelineEntry } from "../../../../../operations/timeline/timeline-entry.ts";
import { type Child, element, icon, timeElement } from "../../dom.ts";
import { formatCost, formatCount, formatDuration, pluralize, sumTokens } from "../../format.ts";
import { renderMarkdown } from "../../markdown/render.ts";
import { toEndingState } from "../../states.ts";

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

/** When it was, as the link to it. */
export function timeOf(
  { at, position }: { at?: number; position: number },
  { addressOf }: { addressOf(position: number): string },
): HTMLElement[] {
  if (at === undefined) return [];
  // Of a record there are hundreds on a page, so one element has to do.
  const { title, textContent, dateTime } = timeElement(at);
  const attributes = {
    ...{ class: "when", href: addressOf(position), title: `${title}: link to this record` },
    "data-time": dateTime,
  };
  return [element("a", attributes, textContent ?? "")];
}

/** `provider/model`: on a small screen the provider makes room. */
export function nameModel(model: string): HTMLElement {
  const own = model.slice(model.indexOf("/") + 1);
  const provider = model.slice(0, model.length - own.length);
  return element(
    "span",
    { class: "model", title: model },
    element("span", { class: "provider" }, provider),
    own,
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
  return element(
    "pre",
    { class: "written", tabindex: "0" },
    excerpt.text || "(empty)",
    ...renderOmitted(excerpt),
  );
}

export function excerptOf(excerpt: Excerpt): Child[] {
  return [excerpt.text, ...renderOmitted(excerpt)];
}

/** What people or a model wrote in Markdown. */
export function bodyOf(text: Excerpt): HTMLElement {
  return element("div", { class: "body" }, ...renderMarkdown(text.text), ...renderOmitted(text));
}

function renderOmitted({ omitted }: Excerpt): HTMLElement[] {
  return omitted ? [element("em", { class: "omitted" }, ` … ${pluralize(omitted, "more character")}`)] : [];
}

export function imagesOf(images = 0): Child {
  return images ? element("span", { class: "soft" }, ` · ${pluralize(images, "image")}`) : "";
}

/** A line of the timeline. */
export function item(kind: string, ...children: Child[]): HTMLElement {
  return element("li", { class: `entry ${kind}` }, ...children);
}

/** How a turn ended. @param startedAt ms since the epoch */
export function renderEnding(
  entry: Extract<TimelineEntry, { kind: "turn-end" }>,
  startedAt: number | undefined,
): HTMLElement {
  const { ended, detail, text, steps, figures, at } = entry;
  const took = startedAt === undefined || at === undefined ? "" : ` · ${formatDuration(at - startedAt)}`;
  const [sign, word] = toEndingState(ended);
  return item(
    `end ${sign}`,
    element(
      "p",
      {},
      icon(sign),
      element("strong", {}, word),
      detail ? ` ${detail}` : "",
      ` · ${pluralize(steps, "step")}${took}`,
    ),
    figuresOf(figures),
    ...(text.text ? [bodyOf(text)] : []),
  );
}
