import type { Redis } from "ioredis";
import { parseThreadId, type ThreadId, type ThreadRef } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { loadScript } from "../redis/script.ts";
import { readMailboxEnds } from "../session/mailbox/mailbox.ts";
import type { TurnQueue } from "./wake-queue.ts";

const enterSlotScript = loadScript(new URL("scripts/enter-slot.lua", import.meta.url));

/** How many turns may run at once. */
export interface SlotLimits {
  perUser: number;
  perChannel: number;
  /** Of all workers together. */
  total: number;
}

/**
 * Shares the workers among people and channels, so that a burst of one does not starve the others, and so that
 * what was scheduled waits behind people.
 */
export interface Slots {
  /**
   * Takes a slot for the thread; undefined when there is none at the moment.
   *
   * @param since when its turn got into the queue, ms: those who wait are let in by it
   */
  enter(thread: ThreadId, since: number): Promise<Slot | undefined>;
}

interface Slot {
  /** @param of.isOurs false when another worker has gone on with the thread, and has its slot. Default true. */
  leave(of?: { isOurs: boolean }): Promise<void>;
}

/** A slot whose worker died is free again after this time. */
const lostMs = 60_000;
/** Who waits for a slot asks again well before this time. */
const waitingMs = 2_000;

export function createSlots(redis: Redis, limits: SlotLimits, onError: (error: unknown) => void): Slots {
  return {
    async enter(thread, since) {
      const { user, isPerson } = await claimantIn(redis, thread);
      const places = placesOf(thread, user, limits);
      const names = places.map(({ place }) => place);
      const waitsSince = isPerson ? since : "";
      const enter = ({ runs }: { runs: boolean }) =>
        enterSlotScript.run(
          redis,
          [...names.map(keys.slots), ...names.map(keys.slotQueue), ...names.map(keys.slotAsked)],
          [thread, lostMs, waitsSince, waitingMs, runs ? "1" : "", ...places.map(({ limit }) => limit)],
        );
      if ((await enter({ runs: false })) !== 1) return undefined;
      const renewing = setInterval(() => void enter({ runs: true }).catch(onError), lostMs / 3);
      return {
        async leave({ isOurs } = { isOurs: true }) {
          clearInterval(renewing);
          if (isOurs) await Promise.all(names.map((place) => redis.zrem(keys.slots(place), thread)));
        },
      };
    },
  };
}

/** Takes a thread out of the lines of those who wait for a slot, so that those behind it move up. */
export async function leaveSlotQueues(
  redis: Redis,
  thread: ThreadId,
  users: ReadonlySet<string>,
): Promise<void> {
  const { platform, workspace, channel } = parseThreadId(thread);
  const names = [
    ...["all", channelPlace({ platform, workspace, channel })],
    ...[...users].map((user) => userPlace({ platform, workspace, user })),
  ];
  await Promise.all(
    names.flatMap((place) => [
      redis.zrem(keys.slotQueue(place), thread),
      redis.zrem(keys.slotAsked(place), thread),
    ]),
  );
}

/** Whether a worker has a slot for the thread, or has died with one. */
export async function holdsSlot(redis: Redis, thread: ThreadId): Promise<boolean> {
  return (await redis.zscore(keys.slots("all"), thread)) !== null;
}

/** How many turns of that channel hold a slot. @param now ms */
export function countRunning(
  redis: Redis,
  channel: Pick<ThreadRef, "platform" | "workspace" | "channel">,
  now: number,
): Promise<number> {
  return redis.zcount(keys.slots(channelPlace(channel)), now, "+inf");
}

/** How many turns of that platform hold a slot. @param now ms */
export async function countRunningOn(redis: Redis, platform: string, now: number): Promise<number> {
  const threads = await redis.zrange(keys.slots("all"), now, "+inf", "BYSCORE");
  return threads.filter((thread) => thread.startsWith(`${platform}:`)).length;
}

/** Where a turn of the thread needs a slot, the widest place first. */
function placesOf(thread: ThreadId, user: string | undefined, limits: SlotLimits) {
  const { platform, workspace, channel } = parseThreadId(thread);
  return [
    { place: "all", limit: limits.total },
    { place: channelPlace({ platform, workspace, channel }), limit: limits.perChannel },
    // A turn that goes on after a crash has no message that waits; its slot is free soon enough.
    ...(user ? [{ place: userPlace({ platform, workspace, user }), limit: limits.perUser }] : []),
  ];
}

const channelPlace = ({
  platform,
  workspace,
  channel,
}: Pick<ThreadRef, "platform" | "workspace" | "channel">) => `channel:${platform}:${workspace}:${channel}`;

const userPlace = ({
  platform,
  workspace,
  user,
}: Pick<ThreadRef, "platform" | "workspace"> & { user: string }) => `user:${platform}:${workspace}:${user}`;

/** How many are worked on before the turn that the thread waits for, on behalf of that person: 1 at least. */
export async function countAhead(
  redis: Redis,
  queue: Pick<TurnQueue, "before">,
  limits: SlotLimits,
  thread: ThreadId,
  user: string,
): Promise<number> {
  const now = Date.now();
  const [line, ...counts] = await Promise.all([
    queue.before(thread),
    ...placesOf(thread, user, limits).map(async ({ place, limit }) => {
      const [taken, own, rank, waiting] = await Promise.all([
        redis.zcount(keys.slots(place), now, "+inf"),
        redis.zscore(keys.slots(place), thread),
        redis.zrank(keys.slotQueue(place), thread),
        redis.zcard(keys.slotQueue(place)),
      ]);
      if (rank !== null) return rank + 1;
      return own === null && taken >= limit ? waiting + 1 : 0;
    }),
  ]);
  // Before all that are in the line, one at least is worked on.
  return Math.max(line + 1, ...counts);
}

/** For whom the turn would run: the person who has waited longest, else whoever scheduled the first task. */
async function claimantIn(
  redis: Redis,
  thread: ThreadId,
): Promise<{ user: string | undefined; isPerson: boolean }> {
  const { messages: waiting } = await readMailboxEnds(redis, thread);
  const person = waiting.find(({ scheduled, unaddressed }) => !scheduled && !unaddressed);
  // A turn that goes on was begun in its order.
  return { user: (person ?? waiting[0])?.author.id, isPerson: person !== undefined || waiting.length === 0 };
}
