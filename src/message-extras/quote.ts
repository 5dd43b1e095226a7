import { plainName, type Quote } from "../agent/messages.ts";

/** Somebody's words as data. */
export interface Quotation extends Pick<Quote, "text"> {
  author: { name: string };
  /** What the model should know of the speaker, e.g. "without permission". */
  note?: string;
}

/** Everything that some reader of text takes for the end of a line. */
const lineEnds = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

/** What a person does not see and a model reads: zero width, turned around, and the tags that spell whole sentences. */
const hidden = /[\u200B\u202A-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E007F}]/gu;

/**
 * The words of others, so that they cannot pass for anything else: each of their lines begins with `> `, and no
 * line of theirs begins otherwise, whatever they wrote. The newest that fit into `maxChars` are kept.
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

/** Undefined when hardly anything of it would fit. */
function quoteOne({ author, text, note }: Quotation, room: number): string | undefined {
  // Nor for a note of ours.
  const name = plainName(author.name.replaceAll(/[():]+/g, " "));
  const head = `${name}${note ? ` (${note})` : ""}:`;
  const lines = text
    .replaceAll(hidden, "")
    .split(lineEnds)
    .map((line) => `> ${line}`);
  const body = lines.join("\n");
  const space = room - head.length - 1;
  if (body.length <= space) return `${head}\n${body}`;
  if (space < 200) return undefined;
  return `${head}\n${body.slice(0, space - 8).toWellFormed()}\n> (cut)`;
}
