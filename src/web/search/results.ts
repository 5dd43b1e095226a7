import type { Masker } from "../../agent/secrets/masker.ts";
import type { WebQuery } from "../../agent/contracts/web.ts";
import type { WebResult } from "../../agent/contracts/web-result.ts";
import { decodeAll } from "../addresses.ts";
import { stripTags } from "../extract/nesting.ts";

const titleCharacters = 200;
const snippetCharacters = 600;

export const secretMessage = "the query holds what is, or looks like, a secret; leave that out.";

/** Whether the query would tell a secret, also behind escapes. */
export function holdsSecret({ words }: WebQuery, masker: Masker): boolean {
  return [words, decodeAll(words)].some((text) => masker.mask(text) !== text);
}

/** A result with a whole address, and words without markup; nothing where the address is none. */
export function tidyResult({ title, address, snippet, date }: WebResult): WebResult[] {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) return [];
  return [
    {
      title: tidyWords(title, titleCharacters) || url.hostname,
      address: url.href,
      snippet: tidyWords(snippet, snippetCharacters),
      ...(date && { date: tidyWords(date, 40) }),
    },
  ];
}

function tidyWords(text: string, most: number): string {
  return stripTags(text).replaceAll(/\s+/g, " ").trim().slice(0, most).toWellFormed();
}
