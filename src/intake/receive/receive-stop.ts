import type { Redis } from "ioredis";
import type { InboundStop, IntakeResult } from "../../chat/inbound.ts";
import { type ChatSurface, retryPassing, SurfaceError } from "../../chat/surface.ts";
import { type MessageRef, parseThreadId, type ThreadId, threadId } from "../../chat/threads.ts";
import { daySeconds, keys } from "../../queue/redis/keys.ts";
import { isOutOfMemory } from "../../queue/redis/out-of-memory.ts";
import { findThreadOfMessage } from "../../queue/session/mailbox/message-threads.ts";
import { listRequesters } from "../../queue/session/requesters.ts";
import { readSessionStatus } from "../../queue/session/lists/sessions.ts";
import { correctStopTime, orderStop } from "../../queue/turns/stops.ts";
import type { Access } from "../access.ts";
import type { Replies } from "../replies.ts";

/** For how long further deliveries of a stop are recognised as duplicates. */
const seenSeconds = daySeconds;
/** The same for a stop without a time of its own: a reaction may be removed and added again. */
const untimedSeconds = 60;
/** How the platform is asked for a message's thread: all of it within the seconds that it waits for us. */
const asking = { attempts: 4, leastMs: 400, mostMs: 400 };

export interface StopOptions {
  redis: Redis;
  access: Pick<Access, "mayStop">;
  /** Sees to it that the thread learns of the order, from here or by a worker. */
  afterStop(thread: ThreadId): Promise<void>;
  surface(platform: string): ChatSurface;
  onProblem(problem: string, error: unknown): void;
}

const mayNotStop = "You may not stop this: only those who asked for it, or administrators.";

/** Orders a thread to stop. The running turn reads the order from Redis; waiting messages are dropped at once. */
export async function receiveStop(
  options: StopOptions & Pick<Replies, "tellPrivately">,
  event: InboundStop,
): Promise<IntakeResult> {
  const { redis, access } = options;
  const thread =
    "thread" in event.target
      ? threadId(event.target.thread)
      : await findThread(options, event.target.message);
  if (!thread) return { kind: "ignored", why: "the message belongs to no thread of ours" };
  const mayStop = () =>
    access.mayStop(parseThreadId(thread), event.author, () => listRequesters(redis, thread));
  if (!(await mayStop())) {
    if (!(await hasWork(redis, thread))) return nothingToStop;
    // It may have begun behind the first look, which saw nobody's work.
    if (!(await mayStop())) return refuse(options, event, thread, mayNotStop);
  }
  const { id, name } = event.author;
  const action =
    event.dedupeKey === undefined
      ? { id: `${id}~${event.at}`, seconds: seenSeconds }
      : { id: `${id}~${event.dedupeKey}`, seconds: untimedSeconds };
  const at = event.isHostTime ? await correctStopTime(redis, thread, event.at) : event.at;
  const ordered = await orderStop(redis, thread, { by: name, at }, action);
  if (ordered === "nothing") return nothingToStop;
  await follow(options, thread);
  return { kind: "stopping", thread, ...(ordered === "repeated" && { unchanged: true }) };
}

const nothingToStop = { kind: "ignored", why: "nothing is running or waiting there" } as const;

/**
 * Refuses the stop of somebody without permission, who learns of it alone, and only where there is something to stop. The
 * platform is not asked about messages that Heddle does not know.
 */
export async function refuseUnauthorizedStop(
  options: Pick<StopOptions, "redis"> & Pick<Replies, "tellPrivately">,
  event: InboundStop,
  reply: string,
): Promise<IntakeResult> {
  const { redis } = options;
  const thread =
    "thread" in event.target
      ? threadId(event.target.thread)
      : await findThreadOfMessage(redis, event.target.message);
  const isStoppable = thread !== undefined && (await hasWork(redis, thread));
  return isStoppable ? refuse(options, event, thread, reply) : { kind: "refused", reply };
}

async function refuse(
  { tellPrivately }: Pick<Replies, "tellPrivately">,
  event: InboundStop,
  thread: ThreadId,
  reply: string,
): Promise<IntakeResult> {
  if (!event.tellsRefusal) await tellPrivately(parseThreadId(thread), event.author.id, reply);
  return { kind: "refused", reply };
}

/** Whether a turn or a background job runs there, or messages wait. */
async function hasWork(redis: Redis, thread: ThreadId): Promise<boolean> {
  const [status, jobs] = await Promise.all([
    readSessionStatus(redis, thread),
    redis.exists(keys.jobs(thread)),
  ]);
  return status !== "idle" || jobs === 1;
}

/**
 * A reaction can arrive before it is recorded which thread the message belongs to; then the platform is asked.
 *
 * @throws SurfaceError where it does not answer: the event is not acknowledged, so that the platform sends it again
 */
async function findThread(options: StopOptions, message: MessageRef): Promise<ThreadId | undefined> {
  const askPlatform = async (): Promise<ThreadId | undefined> => {
    try {
      const thread = await options.surface(message.platform).threadOf(message);
      return thread && threadId(thread);
    } catch (error) {
      if (error instanceof SurfaceError && error.isPassing) throw error;
      options.onProblem("The platform did not say which thread a message belongs to.", error);
      return undefined;
    }
  };
  return retryPassing(
    async () => (await findThreadOfMessage(options.redis, message)) ?? (await askPlatform()),
    asking,
  );
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
