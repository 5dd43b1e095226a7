import type { Redis } from "ioredis";
import type { Question } from "../../agent/questions.ts";
import {
  type MessageRef,
  parseThreadId,
  type ThreadId,
  threadId,
  type ThreadRef,
} from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { postedField, readUndecidedQuestions } from "./open-questions.ts";
import { readMessageRef } from "./stored.ts";

/** A question that nobody has decided, in one of a channel's threads. */
export interface ChannelQuestion {
  thread: ThreadRef;
  question: Question;
  /** Where it was posted; absent until then. */
  ref?: MessageRef;
}

/** More threads with something to do, of all channels, are not looked through, and of one channel no more than that. */
const mostThreads = 2_000;
const mostOfChannel = 50;

/** The open questions of a thread, and of the other threads of its channel, the oldest first. */
export async function readChannelQuestions(redis: Redis, thread: ThreadRef): Promise<ChannelQuestion[]> {
  const listed = await redis.zrange(keys.waiting, "0", String(mostThreads - 1));
  const own = threadId(thread);
  const beginning = threadId({ ...thread, thread: "" });
  const others = listed.filter((id) => id.startsWith(beginning) && id !== own).slice(0, mostOfChannel);
  const found = await Promise.all([own, ...others].map((id) => readQuestions(redis, id)));
  return found.flat().toSorted((a, b) => a.question.askedAt - b.question.askedAt);
}

async function readQuestions(redis: Redis, id: ThreadId): Promise<ChannelQuestion[]> {
  const questions = await readUndecidedQuestions(redis, id);
  if (questions.length === 0) return [];
  const fields = questions.map((question) => postedField(question.id));
  const posted = await redis.hmget(keys.head(id), ...fields);
  return questions.map((question, index) => {
    const ref = readMessageRef(redis, id, fields[index] ?? "", posted[index]);
    return { thread: parseThreadId(id), question, ...(ref && { ref }) };
  });
}
