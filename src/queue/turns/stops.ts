import type { Redis } from "ioredis";
import { z } from "zod";
import type { StopOrder, TurnOutcome } from "../../agent/events.ts";
import type { OpenTurn } from "../../agent/journal/history.ts";
import type { UserMessage } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { channels, daySeconds, keys } from "../redis/keys.ts";
import { loadScript, scriptJson } from "../redis/script.ts";
import { readRedisTime } from "../redis/time.ts";
import { readMailbox } from "../session/mailbox/mailbox.ts";
import { readLastTurn } from "../session/requesters.ts";
import { readStopOrder } from "../session/stored.ts";

/** Tells running turns and background jobs of this process about stop orders. */
export interface StopWatch {
  /** Calls back for the order that exists now, if any, and for every later one, or again. Returns how to end it. */
  watch(thread: ThreadId, onStop: (order: StopOrder) => void): Promise<() => void>;
  /** Like `watch`, for a caller that reads the present order itself: calls back for later ones, or again. */
  listen(thread: ThreadId, onStop: (order: StopOrder) => void): () => void;
  close(): Promise<void>;
}

/** How often orders are read without a hint, ms. */
const lookMs = 2_000;

/**
 * Orders are durable, the published message is only a hint: after a reconnect all watched threads are read
 * again, because messages published in between are lost. A subscription in a cluster moves to another node without
 * notice, so all of them are also read from time to time.
 *
 * @param subscriber a connection of its own, which ends with the watch
 */
export async function watchStops(
  redis: Redis,
  subscriber: Redis,
  onError: (error: unknown) => void,
): Promise<StopWatch> {
  const watched = new Map<ThreadId, Set<(order: StopOrder) => void>>();
  const check = async (thread: ThreadId) => {
    if (!watched.has(thread)) return;
    const order = await readStop(redis, thread);
    if (order) for (const onStop of watched.get(thread) ?? []) onStop(order);
  };
  subscriber.on("message", (_channel, thread) => void check(thread).catch(onError));
  const checkAll = () => {
    for (const thread of watched.keys()) check(thread).catch(onError);
  };
  subscriber.on("ready", checkAll);
  // Commands that wait for a lost Redis would all be sent when it is back.
  const looking = setInterval(() => redis.status === "ready" && checkAll(), lookMs).unref();
  const stopLooking = () => {
    clearInterval(looking);
    subscriber.disconnect();
  };
  try {
    await subscriber.subscribe(channels.stops);
  } catch (error) {
    stopLooking();
    throw error;
  }

  const listen: StopWatch["listen"] = (thread, onStop) => {
    const watchers = watched.get(thread) ?? new Set();
    watched.set(thread, watchers.add(onStop));
    return () => {
      watchers.delete(onStop);
      if (watchers.size === 0 && watched.get(thread) === watchers) watched.delete(thread);
    };
  };

  return {
    listen,
    async watch(thread, onStop) {
      const unlisten = listen(thread, onStop);
      try {
        await check(thread);
        return unlisten;
      } catch (error) {
        unlisten();
        throw error;
      }
    },
    async close() {
      stopLooking();
      watched.clear();
    },
  };
}

/** A watch that is opened for whoever is the first to need it. Where that fails, it is opened anew for the next. */
export function watchStopsWhenNeeded(open: () => Promise<StopWatch>): Pick<StopWatch, "watch"> {
  let opened: Promise<StopWatch> | undefined;
  const openOnce = () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  return { watch: async (thread, onStop) => (await openOnce()).watch(thread, onStop) };
}

/** Whether the message has had its end with the turn: one that is newer than the stop has not. */
export function hadItsEnd(message: UserMessage, outcome: TurnOutcome): boolean {
  return outcome.kind !== "stopped" || isStoppedBy(message, outcome.order);
}

/**
 * Whether the order ends the message: an older one, or one of the same instant that Redis took before it. What an older
 * Heddle stored has no number, and counts as before. `take.lua` has the same rule.
 */
export function isStoppedBy({ at, seq }: Pick<UserMessage, "at" | "seq">, order: StopOrder): boolean {
  if (at !== order.at) return at < order.at;
  return seq === undefined || order.seq === undefined || seq < order.seq;
}

/** Whether the order ends the turn: it is not older than the first message of it. */
export function endsTurn(order: StopOrder, { since, asked }: Pick<OpenTurn, "since" | "asked">): boolean {
  if (order.at !== since) return order.at > since;
  const first = asked.filter(({ at }) => at === since);
  return first.length === 0 || first.some((message) => isStoppedBy(message, order));
}

/** Whether the order is newer than the other one. */
export function isNewerStop(order: StopOrder, other: StopOrder): boolean {
  return order.at > other.at || (order.at === other.at && (order.seq ?? 0) > (other.seq ?? 0));
}

const stopScript = loadScript(new URL("scripts/stop.lua", import.meta.url));

/** What somebody did to stop a thread. Whoever tells of it again, within that time, tells the same id. */
export interface StopAction {
  id: string;
  seconds: number;
}

/** What stop.lua replies, by its number. */
const orderings = ["nothing", "ordered", "repeated"] as const;

/**
 * Records a stop order and tells the workers. `nothing`: the thread has nothing to stop. `repeated`: it is recorded, and
 * that action was told before.
 */
export async function orderStop(
  redis: Redis,
  thread: ThreadId,
  order: StopOrder,
  action: StopAction = { id: `${order.by}~${order.at}`, seconds: daySeconds },
): Promise<(typeof orderings)[number]> {
  const result = await stopScript.run(
    redis,
    [
      ...[keys.head(thread), keys.mail(thread), keys.stop(thread), keys.jobs(thread)],
      keys.seen(thread, `stop~${action.id}`),
    ],
    [scriptJson(order), daySeconds, action.seconds, channels.stops, thread],
  );
  return orderings[z.literal([0, 1, 2]).parse(result)];
}

/**
 * The time of a stop that no platform gives one, ms: no older than what it is to end, and no newer than what comes next,
 * whichever clock is wrong.
 */
export async function correctStopTime(redis: Redis, thread: ThreadId, hostTime: number): Promise<number> {
  const [now, waiting, taken, jobs] = await Promise.all([
    readRedisTime(redis),
    readMailbox(redis, thread),
    readLastTurn(redis, thread),
    redis.hvals(keys.jobs(thread)),
  ]);
  const messages = [
    ...waiting,
    ...taken.flatMap((record) => (record.type === "user" ? [record.message] : [])),
  ];
  return Math.max(Math.min(hostTime, now), ...messages.map(({ at }) => at), ...jobs.map(Number));
}

/** How long ago the order was recorded, ms, by the one clock that all processes share. */
export async function msSinceOrder(redis: Redis, { heardAt }: StopOrder): Promise<number | undefined> {
  if (heardAt === undefined) return undefined;
  return Math.max(0, (await readRedisTime(redis)) - heardAt);
}

export async function readStop(redis: Redis, thread: ThreadId): Promise<StopOrder | undefined> {
  const order = await redis.get(keys.stop(thread));
  return order ? readStopOrder(redis, thread, order) : undefined;
}
