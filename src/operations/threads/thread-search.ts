import type { Redis } from "ioredis";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import { textOf } from "../../agent/messages.ts";
import { foldText, toOneLine } from "../../agent/text/text.ts";
import { searchJournal } from "../../queue/session/journal/search-journal.ts";
import type { Mask } from "../excerpt.ts";
import type { SaidLine, SearchCursor, SearchPage } from "../finding.ts";
import type { ThreadLine } from "../finding.ts";
import { splitWords } from "./thread-query.ts";

/** One request looks no further than this: whoever wants more asks again from where it ended. */
const mostChars = 16_000_000;
const mostMs = 1_500;
const mostFound = 20;
/** Journals whose beginnings are read side by side. */
const atOnce = 20;
const excerptChars = 160;

/** Of these no word is what somebody said; they are most of a journal. */
const unsaid = /^\{"type":"(?:tool-result|tool-start|turn-start|nudge|summary|trim|question|decision)"/;

/**
 * Looks for messages, of people or of the agent, that have all of these words. It reads the journals of the threads, the
 * latest first, in pieces of at most 200 records, and keeps nothing.
 */
export async function searchSaid(
  redis: Redis,
  lines: readonly ThreadLine[],
  query: { words: string; after?: SearchCursor | undefined },
  mask: Mask,
  now: () => number,
): Promise<SearchPage> {
  const words = splitWords(query.words);
  const found: SaidLine[] = [];
  const { after } = query;
  if (words.length === 0) return { found, looked: 0 };
  const started = now();
  const isCandidate = createCandidateTest(words);
  const ordered = lines.toSorted(compareLines);
  const left = after ? ordered.filter((line) => compareLines(line, after) >= 0) : ordered;
  let chars = 0;
  for (let at = 0; at < left.length; at += atOnce) {
    // Most journals are one piece: those of some threads are read in one round trip.
    const some = left.slice(at, at + atOnce).map((line) => {
      const from = line.thread === after?.thread ? after.position : 0;
      const pieces = searchJournal(redis, line.thread, from, isCandidate);
      return { line, pieces, first: pieces.next() };
    });
    await Promise.all(some.map(({ first }) => first));
    for (const [index, { line, pieces, first }] of some.entries()) {
      const { thread, activeAt } = line;
      for (let piece = await first; !piece.done; piece = await pieces.next()) {
        chars += piece.value.chars;
        const excerpt = findExcerpt(piece.value.records, words, mask);
        if (excerpt) found.push({ line, excerpt });
        const isOver = chars >= mostChars || now() - started >= mostMs || found.length >= mostFound;
        // A thread is found once.
        const position = excerpt ? Number.MAX_SAFE_INTEGER : piece.value.next;
        if (isOver) return { found, looked: at + index + 1, next: { activeAt, thread, position } };
        if (excerpt) break;
      }
    }
  }
  return { found, looked: left.length };
}

/** The latest first; by their ids where several were active in one millisecond, so that none is between two pages. */
function compareLines(
  a: Pick<ThreadLine, "activeAt" | "thread">,
  b: Pick<ThreadLine, "activeAt" | "thread">,
): number {
  if (a.activeAt !== b.activeAt) return b.activeAt - a.activeAt;
  if (a.thread === b.thread) return 0;
  return a.thread < b.thread ? -1 : 1;
}

/** Whether a record's JSON may have the words: told without parsing it. */
function createCandidateTest(words: readonly string[]): (json: string) => boolean {
  // As they stand in JSON, where quotation marks and backslashes are written otherwise; and slashes, by Redis only.
  const written = words.flatMap((word) => JSON.stringify(word).slice(1, -1).split("/"));
  return (json) => {
    if (unsaid.test(json)) return false;
    const text = foldText(json);
    return written.every((word) => text.includes(word));
  };
}

/** What is found is what people may read: a part of a secret finds nothing. */
function findExcerpt(
  records: readonly JournalRecord[],
  words: readonly string[],
  mask: Mask,
): string | undefined {
  for (const record of records) {
    const said = readSaid(record);
    const excerpt = said && cutExcerpt(said, words, mask);
    if (excerpt) return excerpt;
  }
  return undefined;
}

function cutExcerpt(said: string, words: readonly string[], mask: Mask): string | undefined {
  const text = toOneLine(mask(said)).normalize();
  const lower = foldText(text);
  if (!words.every((word) => lower.includes(word))) return undefined;
  const at = Math.max(0, lower.indexOf(words[0] ?? "") - excerptChars / 3);
  const part = text.slice(at, at + excerptChars).toWellFormed();
  return `${at > 0 ? "… " : ""}${part}${at + excerptChars < text.length ? " …" : ""}`;
}

function readSaid(record: JournalRecord): string | undefined {
  switch (record.type) {
    case "user":
      return `${record.message.author.name}: ${record.message.text}`;
    case "assistant":
      return textOf(record.message);
    default:
      return undefined;
  }
}
