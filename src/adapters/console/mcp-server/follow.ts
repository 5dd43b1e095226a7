import { setTimeout as delay } from "node:timers/promises";
import type { ThreadId } from "../../../chat/threads.ts";
import type { ThreadIndex } from "../../../operations/operations.ts";
import type { TimelineEntry } from "../../../operations/timeline/timeline-entry.ts";
import type { ThreadLine } from "../../../operations/finding.ts";

/** What a thread's journal has grown by, and how the thread stands then. */
export interface Followed {
  entries: TimelineEntry[];
  /** From where to go on. */
  next: number;
  /** Undefined where the thread is gone. */
  line: ThreadLine | undefined;
}

/**
 * Reads a thread's journal from a position on, and waits for more of it until nothing runs there, a person is asked, or
 * the time is over.
 *
 * @param where.waitMs 0: what there is
 * @param onEntries is called with each part as it comes
 */
export async function followThread(
  threads: ThreadIndex,
  thread: ThreadId,
  where: { from: number; waitMs: number; signal: AbortSignal },
  onEntries: (entries: TimelineEntry[]) => void,
): Promise<Followed> {
  const entries: TimelineEntry[] = [];
  let next = where.from;
  const readOn = async () => {
    for (;;) {
      const page = await threads.timeline(thread, { from: next });
      if (page.entries.length === 0) return;
      next = page.from + page.entries.length;
      entries.push(...page.entries);
      onEntries(page.entries);
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
      if (!isAtWork || isOver.aborted) return { entries, next, line };
      const look = new AbortController();
      const signal = AbortSignal.any([isOver, look.signal]);
      await Promise.race([news.promise, delay(lookAgainMs, undefined, { signal }).catch(() => {})]);
      look.abort();
    }
  } finally {
    unwatch();
  }
}

/** How a thread stands may change without its journal. */
const lookAgainMs = 2_000;
