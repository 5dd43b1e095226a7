import { setTimeout as delay } from "node:timers/promises";
import type { ThreadId } from "../../../chat/threads.ts";
import type { ThreadIndex } from "../../../operations/operations.ts";
import type { ThreadLine } from "../../../operations/finding.ts";
import { describeEntry } from "./describe-entry.ts";

/** What a thread's journal has grown by, and how the thread stands then. */
export interface Followed {
  happened: string[];
  /** From where to go on. */
  next: number;
  /** There may be more already: it was too much for one answer. */
  more: boolean;
  /** Undefined where the thread is gone. */
  line: ThreadLine | undefined;
}

/**
 * Reads a thread's journal from a position on, and waits for more of it until nothing runs there, a person is asked, the
 * time is over, or it is much: an agent reads all of the answer.
 *
 * @param where.waitMs 0: what there is
 * @param onNews is called with each part as it comes: how many records, and what they tell
 */
export async function followThread(
  threads: ThreadIndex,
  thread: ThreadId,
  where: { from: number; waitMs: number; signal: AbortSignal },
  onNews: (records: number, told: readonly string[]) => void,
): Promise<Followed> {
  const happened: string[] = [];
  let chars = 0;
  let next = where.from;
  const isFull = () => chars >= mostChars;
  const readOn = async () => {
    while (!isFull()) {
      const page = await threads.timeline(thread, { from: next });
      if (page.entries.length === 0) return;
      const told: string[] = [];
      let records = 0;
      for (const entry of page.entries) {
        if (isFull()) break;
        const text = describeEntry(entry);
        if (text !== "") told.push(text);
        chars += text.length;
        records += 1;
      }
      next = page.from + records;
      happened.push(...told);
      onNews(records, told);
    }
  };

  const isOver = AbortSignal.any([where.signal, AbortSignal.timeout(where.waitMs)]);
  let news = Promise.withResolvers<void>();
  const unwatch = threads.watch(thread, () => news.resolve());
  try {
    for (;;) {
      // Before it is read: what comes meanwhile is read the next time.
      news = Promise.withResolvers();
      await readOn();
      const line = await threads.find(thread);
      const isAtWork = line !== undefined && line.state !== "idle" && line.state !== "asking";
      // Its last records may have been written after they were read.
      if (!isAtWork) await readOn();
      if (!isAtWork || isOver.aborted || isFull()) return { happened, next, more: isFull(), line };
      const look = new AbortController();
      const signal = AbortSignal.any([isOver, look.signal]);
      await Promise.race([news.promise, delay(lookAgainMs, undefined, { signal }).catch(() => {})]);
      look.abort();
    }
  } finally {
    unwatch();
  }
}

/** Of one answer: some 12,000 tokens, half of what agents let a tool say. The last record may go beyond it. */
const mostChars = 50_000;

/** How a thread stands may change without its journal. */
const lookAgainMs = 2_000;
