import { plainName, type Quote } from "../agent/messages.ts";
import { quoteLines } from "../agent/text/quote-lines.ts";

/** What somebody said, as data. */
export interface Quotation extends Pick<Quote, "text"> {
  author: { name: string };
  /** What the model should know about the speaker, for example "without permission". */
  note?: string;
}

/**
 * Formats what others said so that it cannot be mistaken for anything else: each of their lines begins with `> `,
 * whatever they wrote. The newest quotations that fit into `maxChars` are kept.
 */
export function formatQuotations(quotations: readonly Quotation[], maxChars: number): string {
  const blocks: string[] = [];
  let left = maxChars;
  for (const quotation of quotations.toReversed()) {
    const block = quoteOne(quotation, left);
    if (block === undefined) break;
    left -= block.length;
    blocks.unshift(block);
  }
  const omitted = quotations.length - blocks.length;
  return [...(omitted > 0 ? [`(${omitted} older left out)`] : []), ...blocks].join("\n");
}

/** Undefined when hardly anything would fit. */
function quoteOne({ author, text, note }: Quotation, maxChars: number): string | undefined {
  // Nor for a note of ours.
  const name = plainName(author.name.replaceAll(/[():]+/g, " "));
  const head = `${name}${note ? ` (${note})` : ""}:`;
  const lines = quoteLines(text);
  const body = lines.join("\n");
  const space = maxChars - head.length - 1;
  if (body.length <= space) return `${head}\n${body}`;
  if (space < 200) return undefined;
  return `${head}\n${body.slice(0, space - 8).toWellFormed()}\n> (cut)`;
}
