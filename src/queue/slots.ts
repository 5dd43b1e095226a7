import type { Redis } from "ioredis";
import { parseThreadId, type ThreadId } from "../adapters/adapter.ts";
import type { JournalRecord } from "../agent/journal.ts";
import { keys } from "./keys.ts";
import { scripts } from "./scripts.ts";

/** How many turns may run at once. */
export interface SlotLimits {
  perUser: number;
  perChannel: number;
  /** Of all workers together. */
  total: number;
}

/** Shares the workers among people and channels, so that a burst of one does not starve the others. */
export interface Slots {
  /** Takes a slot for the thread; undefined when there is none at the moment. */
  enter(thread: ThreadId): Promise<{ leave(): Promise<void> } | undefined>;
}

/** A slot whose worker died is free again after this time. */
const lostMs = 60_000;

export function createSlots(redis: Redis, limits: SlotLimits, onError: (error: unknown) => void): Slots {
  return {
    async enter(thread) {
      const { platform, workspace, channel } = parseThreadId(thread);
      const user = await userWaitingIn(redis, thread);
      const places = [
        { key: keys.slots("all"), limit: limits.total },
        { key: keys.slots(`channel:${platform}:${workspace}:${channel}`), limit: limits.perChannel },
        // A turn that goes on after a crash has no message that waits; its slot is free soon enough.
        ...(user
          ? [{ key: keys.slots(`user:${platform}:${workspace}:${user}`), limit: limits.perUser }]
          : []),
      ];
      const placeKeys = places.map(({ key }) => key);
      const enter = () =>
        scripts.enter.run(redis, placeKeys, [thread, lostMs, ...places.map(({ limit }) => limit)]);
      if ((await enter()) !== 1) return undefined;
      const renewing = setInterval(() => void enter().catch(onError), lostMs / 3);
      return {
        async leave() {
          clearInterval(renewing);
          await Promise.all(placeKeys.map((key) => redis.zrem(key, thread)));
        },
      };
    },
  };
}

/** Who wrote the message that has waited longest. */
async function userWaitingIn(redis: Redis, thread: ThreadId): Promise<string | undefined> {
  const first = await redis.lindex(keys.mail(thread), 0);
  if (first === null) return undefined;
  // Only `user` records are ever put into a mailbox.
  return (JSON.parse(first) as Extract<JournalRecord, { type: "user" }>).message.author.id;
}
