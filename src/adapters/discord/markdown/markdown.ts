import { layOut } from "./layout.ts";
import { readMarkdown } from "./read.ts";
import { writeRuns } from "./runs.ts";

/**
 * CommonMark, with GitHub's tables and task lists, in the Markdown that Discord shows: in messages that are whole each by
 * itself. What Discord lacks is said in what it has, and what is text stays text.
 */

/**
 * All of it, in as many messages as it takes.
 *
 * @param limit characters (UTF-16 units) of one message, at least 100
 */
export function splitForDiscord(markdown: string, limit: number): [string, ...string[]] {
  return layOut(readMarkdown(markdown), limit);
}

/** So many times as long as what is shown of it a text is read. */
const readAhead = 4;

/** The beginning that fits into one message, with an ellipsis if something was left out. */
export function cutForDiscord(markdown: string, limit: number): string {
  const isCut = markdown.length > readAhead * limit;
  const lines = readMarkdown(isCut ? markdown.slice(0, readAhead * limit).toWellFormed() : markdown);
  const [whole, next] = layOut(lines, limit);
  if (next === undefined && !isCut) return whole;
  const ellipsis = "\n…";
  return layOut(lines, limit - ellipsis.length)[0] + ellipsis;
}

/** One line of text that Discord shows as it is. */
export function escapeForDiscord(text: string): string {
  return writeRuns([{ kind: "text", text, marks: [] }]);
}
