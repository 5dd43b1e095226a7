import type { Excerpt } from "./finding.ts";

/** Hides secrets in a text. */
export type Mask = (text: string) => string;

/** Longer than a private key (3,300 characters at RSA 4096), also with each of its bytes written as `0x41, `. */
const marginChars = 32_768;

/**
 * The beginning of a text, masked before it is cut: half a secret would not be recognised. Of a long text no more is
 * masked than is shown, and a margin: a secret that is cut at its end stays unrecognised, and is not shown either.
 */
export function makeExcerpt(text: string, mask: Mask, chars: number): Excerpt {
  let end = chars + marginChars;
  let masked = mask(text.slice(0, end));
  // Where masks are shorter than the secrets, what is shown would reach into the margin.
  while (end < text.length && masked.length < chars + marginChars) {
    end *= 2;
    masked = mask(text.slice(0, end));
  }
  const omitted = Math.max(0, masked.length - chars) + Math.max(0, text.length - end);
  return omitted === 0 ? { text: masked, omitted } : { text: masked.slice(0, chars).toWellFormed(), omitted };
}
