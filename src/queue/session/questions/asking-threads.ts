import type { Redis } from "ioredis";
import type { Question } from "../../../agent/questions.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import { keys } from "../../redis/keys.ts";
import { loadScript } from "../../redis/script.ts";
import { readUndecidedQuestions } from "./open-questions.ts";

/**
 * Which threads ask people something, so that a list of questions costs what is open and not what there is to do. A
 * thread is listed before its question is written, and taken off by whoever finds none there some time later: what
 * crashes in between leaves a thread too many on the list, never one too few.
 */

const unlistScript = loadScript(new URL("../scripts/unlist.lua", import.meta.url));

/** No question stays open for longer (`tools.questionMinutes`), ms. */
const longestMs = 31 * 86_400_000;
/** A question is written so long after its thread was listed at the latest, clocks that differ included, ms. */
const writtenMs = 120_000;
/** So often the list is made whole again from all threads with something to do, s: an older Heddle lists none. */
const wholeSeconds = 600;
/** Of those with something to do so many are looked through for that, those that wait longest for people first. */
const mostThreads = 5_000;
/** Side by side. */
const atOnce = 200;

/** A thread with the questions that nobody has decided. */
export interface AskingThread {
  thread: ThreadId;
  questions: Question[];
}

/** Lists a thread, before its question is written. */
export async function listAsking(redis: Redis, thread: ThreadId, now: number): Promise<void> {
  await redis
    .pipeline()
    .zadd(keys.asking, now, thread)
    .zremrangebyscore(keys.asking, "-inf", now - longestMs)
    .exec();
}

/** All that ask something at the moment. Takes off the list which do not, and from time to time makes it whole. */
export async function readAskingThreads(redis: Redis, now: number): Promise<AskingThread[]> {
  if ((await redis.exists(keys.askingWhole)) === 0) await makeWhole(redis, now);
  const listed = await redis.zrange(keys.asking, "0", "-1", "WITHSCORES");
  const asking: AskingThread[] = [];
  for (const some of inPieces(toPairs(listed))) {
    const read = await Promise.all(
      some.map(async ([thread, since]) => {
        const questions = await readUndecidedQuestions(redis, thread);
        if (questions.length > 0) return [{ thread, questions }];
        // Unless it was listed anew meanwhile.
        if (Number(since) < now - writtenMs)
          await unlistScript.run(redis, [keys.asking], [thread, since, ""]);
        return [];
      }),
    );
    asking.push(...read.flat());
  }
  return asking;
}

/** Lists which ask something without being listed: by a worker of an older Heddle, or on a Redis that has lost the list. */
async function makeWhole(redis: Redis, now: number): Promise<void> {
  // Those that wait for people come last: until when they do is in the future.
  const threads = await redis.zrevrange(keys.waiting, 0, mostThreads - 1);
  for (const some of inPieces(threads)) {
    await Promise.all(
      some.map(async (thread) => {
        if ((await readUndecidedQuestions(redis, thread)).length > 0)
          await redis.zadd(keys.asking, "NX", now, thread);
      }),
    );
  }
  // Only then: whoever reads meanwhile does the same.
  await redis.set(keys.askingWhole, "1", "EX", wholeSeconds);
}

function toPairs(listed: readonly string[]): [thread: ThreadId, since: string][] {
  return Array.from({ length: listed.length / 2 }, (_, index) => [
    listed[2 * index] ?? "",
    listed[2 * index + 1] ?? "",
  ]);
}

function* inPieces<T>(all: readonly T[]): Iterable<readonly T[]> {
  for (let from = 0; from < all.length; from += atOnce) yield all.slice(from, from + atOnce);
}
