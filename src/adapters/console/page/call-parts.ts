/** What a call was given and what came of it, as a person reads it. */
import type { Excerpt } from "../../../operations/finding.ts";
import type { InnerCallList } from "../../../operations/timeline/timeline-entry.ts";
import { copyButton } from "./copy.ts";
import { type Child, element } from "./dom.ts";
import { pluralize } from "./format.ts";
import { renderTerminal } from "./terminal.ts";

/** The values of the arguments without their names, on one line; the beginning of their text where it is cut. */
export function argumentValues(text: string): string {
  // Cut in the middle, it is not the name of the first one that says what it is.
  const values = parseArguments(text)?.map(([, value]) => value) ?? [text.replace(/^\{\s*"\w+":\s*"?/, "")];
  return values.join(" · ").replaceAll(/\s+/g, " ").slice(0, 140);
}

/** Each argument under its name: no text with its line breaks and quotes escaped. */
export function renderArguments({ text, omitted }: Excerpt): HTMLElement[] {
  if (text === "") return [];
  const pairs = parseArguments(text);
  if (!pairs) return [renderTitledText("Arguments", { text, omitted })];
  const [first] = pairs;
  // A command needs no name before it.
  if (first && pairs.length === 1) return [renderTitledText(first[0], { text: first[1], omitted })];
  const short = pairs.filter(([, value]) => isShort(value));
  const long = pairs.filter(([, value]) => !isShort(value));
  const list = short.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
  return [
    ...(list.length > 0 ? [element("dl", { class: "pairs arguments" }, ...list)] : []),
    ...long.map(([name, value]) => renderTitledText(name, { text: value, omitted: 0 })),
  ];
}

/** A text of a tool under its name, to be copied. */
export function renderTitledText(title: string, excerpt: Excerpt, ...more: Child[]): HTMLElement {
  const { text, omitted } = excerpt;
  const rest =
    omitted > 0 ? [element("em", { class: "omitted" }, ` … ${pluralize(omitted, "more character")}`)] : [];
  return element(
    "div",
    { class: "titled" },
    element("h4", {}, title, ...more, ...(text ? copyButton(`Copy ${title}`, () => text) : [])),
    element("pre", { tabindex: "0" }, ...(text ? renderTerminal(text) : ["(empty)"]), ...rest),
  );
}

/** How many calls a sub-agent made, and which of them are shown. */
export function innerTitle({ calls, omitted }: InnerCallList): string {
  const all = pluralize(omitted + calls.length, "call");
  return `${all} by the sub-agent${omitted ? `, last ${calls.length} shown` : ""}`;
}

function isShort(value: string): boolean {
  return value.length <= 80 && !value.includes("\n");
}

/** Undefined where it is no object: cut in the middle, or never JSON. */
function parseArguments(text: string): [name: string, value: string][] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    // What the gateway has not indented is nested too deep for it.
    const indent = text.includes("\n") ? 2 : 0;
    return Object.entries(value).map(([name, one]) => [
      name,
      typeof one === "string" ? one : (JSON.stringify(one, null, indent) ?? ""),
    ]);
  } catch {
    return undefined;
  }
}
