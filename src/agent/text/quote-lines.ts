import { removeHidden } from "./hidden-characters.ts";

/** Everything that some program treats as the end of a line. */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const lineEnds = /\r\n|[\n\r\v\f\u001C-\u001E\u0085\u2028\u2029]/;

/**
 * The lines of what somebody else wrote, each behind `> ` and without hidden characters, so that it cannot be mistaken
 * for anything else, whatever is in it.
 */
export function quoteLines(text: string): string[] {
  // What ends a line is hidden too.
  return text.split(lineEnds).map((line) => `> ${removeHidden(line)}`);
}
