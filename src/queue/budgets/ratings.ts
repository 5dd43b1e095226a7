import type { Redis } from "ioredis";
import { type ThreadId, threadId, type ThreadRef } from "../../chat/threads.ts";
import { daySeconds, keys } from "../redis/keys.ts";
import { readBackward } from "../session/journal/journal.ts";
import { formatDay, type Rating, subjects } from "./usage.ts";

/** What people think of answers: counted by model, beside what was used on the day of the answer. */

/** The id of the button that rates the answer of a turn. */
export function ratingActionId(turn: string, rating: Rating): string {
  return `rate:${rating}:${turn}`;
}

/** What such a button says; undefined for another button. */
export function readRatingAction(action: string): { turn: string; rating: Rating } | undefined {
  const [, rating, turn] = /^rate:(liked|disliked):(\w+)$/.exec(action) ?? [];
  return turn && (rating === "liked" || rating === "disliked") ? { turn, rating } : undefined;
}

export interface Ratings {
  /**
   * Counts one person's opinion of a turn's answer; a later one replaces it. Of the same one told by several processes
   * at once, one is `counted`.
   */
  rate(
    place: ThreadRef,
    person: string,
    of: { turn: string; rating: Rating },
  ): Promise<"counted" | "unchanged" | "unknown-answer">;
}

export function createRatings(
  redis: Redis,
  { timeZone, keepDays }: { timeZone: string; keepDays: number },
): Ratings {
  const seconds = keepDays * daySeconds;
  return {
    async rate(place, person, { turn, rating }) {
      const thread = threadId(place);
      const answer = await answerOf(redis, thread, turn);
      if (!answer) return "unknown-answer";
      const voted = keys.rated(thread, turn, person);
      const before = await redis.set(voted, rating, "EX", seconds, "GET");
      if (before === rating) return "unchanged";
      const usage = keys.usage(formatDay(timeZone, answer.at));
      const counting = redis.multi();
      for (const subject of [subjects.all, subjects.model(answer.model)]) {
        counting.hincrby(usage, `${subject} ${rating}`, 1);
        if (before !== null) counting.hincrby(usage, `${subject} ${before}`, -1);
      }
      await counting.expire(usage, seconds).exec();
      return "counted";
    },
  };
}

/** The model that gave a turn's answer, and when (ms); undefined when the journal knows no such answer. */
async function answerOf(
  redis: Redis,
  thread: ThreadId,
  turn: string,
): Promise<{ model: string; at: number } | undefined> {
  let hasEnded = false;
  for await (const { records } of readBackward(redis, thread)) {
    for (const record of records.toReversed()) {
      hasEnded ||= record.type === "turn-end" && record.turn === turn;
      if (hasEnded && record.type === "assistant") return { model: record.message.model, at: record.at };
    }
  }
  return undefined;
}
