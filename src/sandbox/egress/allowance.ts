import { setTimeout as sleep } from "node:timers/promises";

/** Counts what threads move in a day, for all workers together. */
export interface DayCounter {
  /**
   * Adds bytes of a thread, or gives them back where they are negative. Resolves with its sum of that day (UTC,
   * YYYY-MM-DD); rejects where that cannot be known.
   */
  add(threadId: string, day: string, bytes: number): Promise<number>;
}

/** `unknown`: the counter did not answer. */
export type Permission = "granted" | "used up" | "unknown";

/** The bytes that a thread may still move today through this process. */
export interface Allowance {
  /** Takes bytes before they move; with 0, tells whether any may. */
  take(bytes: number): Promise<Permission>;
  /** Returns what was set aside and not used. Nothing is taken afterwards. */
  giveBack(): Promise<void>;
}

/** So much is set aside at once: asking for each piece would cost more than moving it. */
const blockBytes = 1_048_576;
/** A day has at least so many blocks, so that one worker does not keep another from a small rest. */
const blocksPerDay = 64;

/** Sets bytes aside in the counter, a block at a time, so that all workers together keep to the limit. */
export function createDayAllowance(options: {
  threadId: string;
  counter: DayCounter;
  bytesPerDay: number;
  now(): number;
  answerWithinMs?: number;
}): Allowance {
  const { threadId, counter, bytesPerDay, now, answerWithinMs = 5_000 } = options;
  const block = Math.min(blockBytes, Math.ceil(bytesPerDay / blocksPerDay));
  let day = "";
  let left = 0;
  /** The day on which something was refused: a rest that is too small for it serves nobody. */
  let over = "";
  let reserving: Promise<boolean> | undefined;

  /** False when the day has less than that. */
  async function reserve(bytes: number): Promise<boolean> {
    const of = day;
    const sum = await counter.add(threadId, of, bytes);
    const excess = Math.min(bytes, Math.max(0, sum - bytesPerDay));
    if (excess > 0) await counter.add(threadId, of, -excess);
    if (of === day) left += bytes - excess;
    return excess === 0;
  }

  return {
    async take(bytes) {
      const today = new Date(now()).toISOString().slice(0, 10);
      if (today !== day) left = 0;
      day = today;
      while (over !== today && left < Math.max(1, bytes)) {
        reserving ??= reserve(Math.max(block, bytes - left)).finally(() => (reserving = undefined));
        try {
          // An answer that comes late serves whoever asks next: asked again, the counter would count it twice.
          if (!(await inTime(reserving, answerWithinMs)) && left < Math.max(1, bytes)) over = today;
        } catch {
          return "unknown";
        }
      }
      if (over === today) return "used up";
      left -= bytes;
      return "granted";
    },
    async giveBack() {
      const unused = left;
      left = 0;
      // What cannot be given back is lost to the thread until tomorrow.
      if (unused > 0) await inTime(counter.add(threadId, day, -unused), answerWithinMs).catch(() => {});
    },
  };
}

/** Counts for this process alone. */
export function processCounter(): DayCounter {
  let today = "";
  const sums = new Map<string, number>();
  return {
    async add(threadId, day, bytes) {
      if (day > today) sums.clear();
      if (day > today) today = day;
      const sum = (sums.get(threadId) ?? 0) + bytes;
      sums.set(threadId, sum);
      return sum;
    },
  };
}

async function inTime<Answer>(answer: Promise<Answer>, answerWithinMs: number): Promise<Answer> {
  const over = new AbortController();
  try {
    return await Promise.race([
      answer,
      sleep(answerWithinMs, undefined, { signal: over.signal }).then(() => {
        throw new Error("The counter did not answer.");
      }),
    ]);
  } finally {
    over.abort();
  }
}
