import type { Redis } from "ioredis";
import type { InboundStop, IntakeResult } from "../chat/inbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import { type MessageRef, type ThreadId, threadId } from "../chat/threads.ts";
import { isOutOfMemory } from "../queue/redis/out-of-memory.ts";
import { findThreadOfMessage } from "../queue/session/message-threads.ts";
import { listRequesters } from "../queue/session/requesters.ts";
import { orderStop } from "../queue/turns/stops.ts";
import type { Access } from "./access.ts";

/** For how long further deliveries of a stop are recognised as duplicates. */
const daySeconds = 86_400;
/** The same for a stop without a time of its own: a reaction may be removed and added again. */
const untimedSeconds = 60;

export interface StopOptions {
  redis: Redis;
  access: Pick<Access, "mayStop">;
  /** Sees to it that the thread learns of the order, from here or by a worker. */
  afterStop(thread: ThreadId): Promise<void>;
  surface(platform: string): ChatSurface;
  onProblem(problem: string, error: unknown): void;
}

/** Orders a thread to stop. The running turn reads the order from Redis; waiting messages are dropped at once. */
export async function receiveStop(options: StopOptions, event: InboundStop): Promise<IntakeResult> {
  const { redis, access } = options;
  const thread =
    "thread" in event.target
      ? threadId(event.target.thread)
      : await findThread(options, event.target.message);
  if (!thread) return { kind: "ignored", why: "the message belongs to no thread of ours" };
  if (!(await access.mayStop(event.author, () => listRequesters(redis, thread)))) {
    return {
      kind: "refused",
      reply: "You may not stop this: only those who asked for it, or administrators.",
    };
  }
  const { id, name } = event.author;
  const action =
    event.dedupeKey === undefined
      ? { id: `${id}~${event.at}`, seconds: daySeconds }
      : { id: `${id}~${event.dedupeKey}`, seconds: untimedSeconds };
  const ordered = await orderStop(redis, thread, { by: name, at: event.at }, action);
  if (ordered === "nothing") return { kind: "ignored", why: "nothing is running or waiting there" };
  await follow(options, thread);
  return { kind: "stopping", thread, ...(ordered === "repeated" && { unchanged: true }) };
}

/** A reaction can arrive before it is recorded which thread the message belongs to; then the platform is asked. */
async function findThread(options: StopOptions, message: MessageRef): Promise<ThreadId | undefined> {
  const known = await findThreadOfMessage(options.redis, message);
  if (known) return known;
  try {
    const thread = await options.surface(message.platform).threadOf(message);
    return thread && threadId(thread);
  } catch (error) {
    options.onProblem("The platform did not say which thread a message belongs to.", error);
    return undefined;
  }
}

async function follow({ afterStop, onProblem }: StopOptions, thread: ThreadId): Promise<void> {
  try {
    await afterStop(thread);
  } catch (error) {
    // The order stands, and the sweeper wakes the thread when there is memory again.
    if (!isOutOfMemory(error)) throw error;
    onProblem("A stopped thread could not be woken.", error);
  }
}
