import type { Redis } from "ioredis";
import type { MessageRef, ThreadId } from "../chat/adapter.ts";
import type { StopOrder } from "../agent/events.ts";
import type { JournalRecord } from "../agent/journal.ts";
import type { UserMessage } from "../agent/messages.ts";
import { faultPoint } from "./fault.ts";
import { channels, keys } from "./keys.ts";
import { isOutOfMemory, OutOfMemory } from "./redis/memory.ts";
import { scriptJson, scripts } from "./scripts.ts";

const daySeconds = 86_400;

/** How long a reaction on an old message still finds its thread. */
const referenceSeconds = 30 * daySeconds;

export type Delivery =
  | { kind: "accepted"; position: number }
  | { kind: "duplicate" }
  | { kind: "no-session" }
  /** Bots have written all that they may until a person does. */
  | { kind: "bots-only" };

/**
 * Puts a message into its thread's mailbox, once, and lists the thread for the sweeper.
 * When this resolves the message survives any crash.
 *
 * @throws {OutOfMemory} when nothing of it could be stored
 * @param onlyIfSession take it only where a session is alive (follow-ups without a mention)
 * @param botLimit for a message of a bot: so many are taken without one of a person between them
 */
export async function deliver(
  redis: Redis,
  thread: ThreadId,
  message: UserMessage,
  options: { onlyIfSession: boolean; botLimit?: number; now: number },
): Promise<Delivery> {
  const record: JournalRecord = { type: "user", message };
  let result: unknown;
  try {
    result = await scripts.deliver.run(
      redis,
      [keys.head(thread), keys.mail(thread), keys.seen(thread, message.id)],
      [
        scriptJson(record),
        daySeconds,
        options.onlyIfSession ? "1" : "0",
        options.now,
        options.botLimit ?? "",
      ],
    );
  } catch (error) {
    throw isOutOfMemory(error) ? new OutOfMemory(error) : error;
  }
  if (result === -2) return { kind: "no-session" };
  if (result === -3) return { kind: "bots-only" };

  // Also for a duplicate: the first delivery may have died before it came here.
  await listThreads(redis, thread, options.now);
  // See the header of deliver.lua.
  return result === -1 ? { kind: "duplicate" } : { kind: "accepted", position: (result as number) - 1 };
}

/** The messages that no turn has taken, oldest first. */
export async function waitingIn(redis: Redis, thread: ThreadId): Promise<UserMessage[]> {
  // Only `user` records are ever put into a mailbox.
  return (await redis.lrange(keys.mail(thread), 0, -1)).map(
    (entry) => (JSON.parse(entry) as Extract<JournalRecord, { type: "user" }>).message,
  );
}

/** Lists the thread as having something to do, so that the sweeper finds it. */
export async function listThreads(redis: Redis, thread: ThreadId, now: number): Promise<void> {
  // Not in one pipeline: in a cluster the two keys are in different slots.
  await faultPoint("list", () =>
    Promise.all([redis.zadd(keys.waiting, now, thread), redis.zadd(keys.threads, now, thread)]),
  );
}

/** What somebody did to stop a thread. Whoever tells of it again, within that time, tells the same id. */
export interface StopDeed {
  id: string;
  seconds: number;
}

/**
 * Records a stop order and tells the workers. `nothing`: the thread has nothing to stop. `repeated`: it is recorded, and
 * that deed was told before.
 */
export async function orderStop(
  redis: Redis,
  thread: ThreadId,
  order: StopOrder,
  deed: StopDeed = { id: `${order.by}~${order.at}`, seconds: daySeconds },
): Promise<"ordered" | "repeated" | "nothing"> {
  const result = await scripts.stop.run(
    redis,
    [
      ...[keys.head(thread), keys.mail(thread), keys.stop(thread), keys.jobs(thread)],
      keys.seen(thread, `stop~${deed.id}`),
    ],
    [scriptJson(await heard(redis, order)), daySeconds, deed.seconds],
  );
  if (result === 0) return "nothing";
  await redis.publish(channels.stops, thread);
  return result === 1 ? "ordered" : "repeated";
}

/** When the thread was last listed as having something to do. */
export function listedAt(redis: Redis, thread: ThreadId): Promise<string | null> {
  return redis.zscore(keys.waiting, thread);
}

/**
 * Takes the thread off the list, unless it was listed anew since `listed` was read.
 *
 * @param until when it has something to do by itself, ms: it stays listed for then
 */
export async function unlist(
  redis: Redis,
  thread: ThreadId,
  listed: string | null,
  until?: number,
): Promise<void> {
  if (listed !== null) await scripts.rest.run(redis, [keys.waiting], [thread, listed, until ?? ""]);
}

/** How long ago the order was recorded, ms, by the one clock that all processes share. */
export async function sinceOrder(redis: Redis, { heardAt }: StopOrder): Promise<number | undefined> {
  if (heardAt === undefined) return undefined;
  return Math.max(0, (await redisTime(redis)) - heardAt);
}

/** The order as it is recorded. */
export async function heard(redis: Redis, order: StopOrder): Promise<StopOrder> {
  return { ...order, heardAt: await redisTime(redis) };
}

async function redisTime(redis: Redis): Promise<number> {
  const [seconds = 0, microseconds = 0] = (await redis.time()).map(Number);
  return seconds * 1_000 + Math.floor(microseconds / 1_000);
}

export async function readStop(redis: Redis, thread: ThreadId): Promise<StopOrder | undefined> {
  const order = await redis.get(keys.stop(thread));
  return order ? (JSON.parse(order) as StopOrder) : undefined;
}

/** Remembers which thread a message belongs to. */
export async function rememberMessages(
  redis: Redis,
  thread: ThreadId,
  refs: readonly MessageRef[],
): Promise<void> {
  await faultPoint("remember", () =>
    Promise.all(refs.map((ref) => redis.set(keys.reference(ref), thread, "EX", referenceSeconds))),
  );
}

export async function threadOfMessage(redis: Redis, ref: MessageRef): Promise<ThreadId | undefined> {
  return (await redis.get(keys.reference(ref))) ?? undefined;
}
