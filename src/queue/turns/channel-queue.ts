import type { Redis } from "ioredis";
import type { UserMessage } from "../../agent/messages.ts";
import { parseThreadId, type ThreadId, threadId, type ThreadRef } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { readMailboxEnds } from "../session/mailbox/mailbox.ts";
import { readSessionStatus } from "../session/lists/sessions.ts";
import { countRunning } from "./slots.ts";

/** What waits in a channel besides one of its threads. */
export interface ChannelQueue {
  /** Turns that run in the channel, those of that thread included. */
  running: number;
  /** Threads that wait for a turn, those first that have waited longest. */
  threads: WaitingThread[];
}

export interface WaitingThread {
  thread: ThreadRef;
  first: UserMessage;
  /** Messages that wait in it. */
  messages: number;
}

/** More threads with something to do, of all channels, are not looked through. */
const mostThreads = 2_000;
/** More of one channel are not looked at: people read only the first ones. */
const mostOfChannel = 50;

/** @param except the thread that is told by itself @param now ms */
export async function readChannelQueue(redis: Redis, except: ThreadRef, now: number): Promise<ChannelQueue> {
  const listed = await redis.zrange(keys.waiting, "0", String(mostThreads - 1));
  const own = threadId(except);
  const beginning = threadId({ ...except, thread: "" });
  const others = listed.filter((id) => id.startsWith(beginning) && id !== own).slice(0, mostOfChannel);
  const [running, found] = await Promise.all([
    countRunning(redis, except, now),
    Promise.all(others.map((id) => readWaitingThread(redis, id))),
  ]);
  const threads = found.filter((line) => line !== undefined).toSorted((a, b) => a.first.at - b.first.at);
  return { running, threads };
}

async function readWaitingThread(redis: Redis, id: ThreadId): Promise<WaitingThread | undefined> {
  const [status, { messages, hidden }] = await Promise.all([
    readSessionStatus(redis, id),
    readMailboxEnds(redis, id),
  ]);
  const [first] = messages;
  if (status !== "waiting" || !first) return undefined;
  return { thread: parseThreadId(id), first, messages: messages.length + hidden };
}
