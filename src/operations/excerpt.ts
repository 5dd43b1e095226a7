import type { Excerpt } from "./finding.ts";

/** Hides secrets in a text. */
export type Mask = (text: string) => string;

/** The beginning of a text, masked before it is cut: half a secret would not be recognised. */
export function makeExcerpt(text: string, mask: Mask, chars: number): Excerpt {
  const masked = mask(text);
  if (masked.length <= chars) return { text: masked, omitted: 0 };
  return { text: masked.slice(0, chars).toWellFormed(), omitted: masked.length - chars };
}
