import type { Redis } from "ioredis";
import type { JournalRecord } from "../../../agent/journal/journal.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import { keys } from "../../redis/keys.ts";
import { charsOf } from "./journal.ts";
import { readRecord } from "../stored.ts";

/** Read with one command; a piece of large records is made smaller. */
const most = 200;
const pieceChars = 500_000;

/** Records of a journal that may be what is looked for, and how far it was read. */
interface SearchedPiece {
  records: JournalRecord[];
  /** Where the next piece begins. */
  next: number;
  chars: number;
}

/**
 * Reads a journal piece by piece, and parses only the records whose JSON is a candidate: most of a journal is results of
 * tools, which are long and parsed in vain.
 */
export async function* searchJournal(
  redis: Redis,
  thread: ThreadId,
  from: number,
  isCandidate: (json: string) => boolean,
): AsyncGenerator<SearchedPiece> {
  for (let count = most, next = from; ; ) {
    const entries = await redis.lrange(keys.log(thread), next, next + count - 1);
    if (entries.length === 0) return;
    const records = entries.flatMap((json, index) =>
      isCandidate(json) ? [readRecord(redis, thread, next + index, json)] : [],
    );
    const chars = charsOf(entries);
    const isLast = entries.length < count;
    next += entries.length;
    count = chars > pieceChars ? Math.max(1, Math.floor(count / 4)) : Math.min(most, 2 * count);
    yield { records, next, chars };
    if (isLast) return;
  }
}
