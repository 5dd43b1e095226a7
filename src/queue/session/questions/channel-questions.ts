import type { Redis } from "ioredis";
import type { Question } from "../../../agent/questions.ts";
import { type MessageRef, parseThreadId, threadId, type ThreadRef } from "../../../chat/threads.ts";
import { keys } from "../../redis/keys.ts";
import { type AskingThread, readAskingThreads } from "./asking-threads.ts";
import { postedField, readUndecidedQuestions } from "./open-questions.ts";
import { readMessageRef } from "../stored.ts";

/** A question that nobody has decided, in one of a channel's threads. */
export interface ChannelQuestion {
  thread: ThreadRef;
  question: Question;
  /** Where it was posted; absent until then. */
  ref?: MessageRef;
}

/** Of one channel no more threads are looked through. */
const mostOfChannel = 50;

/** The open questions of a thread, and of the other threads of its channel, the oldest first. */
export async function readChannelQuestions(
  redis: Redis,
  thread: ThreadRef,
  now: number,
): Promise<ChannelQuestion[]> {
  const own = threadId(thread);
  const beginning = threadId({ ...thread, thread: "" });
  const others = (await readAskingThreads(redis, now))
    .filter((asking) => asking.thread.startsWith(beginning) && asking.thread !== own)
    .slice(0, mostOfChannel);
  const asking = [{ thread: own, questions: await readUndecidedQuestions(redis, own) }, ...others];
  const found = await Promise.all(asking.map((one) => locate(redis, one)));
  return found.flat().toSorted((a, b) => a.question.askedAt - b.question.askedAt);
}

async function locate(redis: Redis, { thread: id, questions }: AskingThread): Promise<ChannelQuestion[]> {
  if (questions.length === 0) return [];
  const fields = questions.map((question) => postedField(question.id));
  const posted = await redis.hmget(keys.head(id), ...fields);
  return questions.map((question, index) => {
    const ref = readMessageRef(redis, id, fields[index] ?? "", posted[index]);
    return { thread: parseThreadId(id), question, ...(ref && { ref }) };
  });
}
