import type { Redis } from "ioredis";
import { z } from "zod";
import { createStoredParser } from "../agent/text/parse-stored.ts";
import { daySeconds, keys } from "../queue/redis/keys.ts";
import { readStored } from "../queue/redis/unreadable.ts";

/** An event that waits for the end of quiet hours: its task is made, so that it takes no more room than one. */
const heldSchema = z.looseObject({
  version: z.literal(1),
  /** Of the thread that it goes to; see `hookThread`. */
  key: z.string(),
  /** Of the message that it becomes. */
  id: z.string(),
  text: z.string(),
  /** When it came, ms. */
  at: z.int(),
});

export type HeldEvent = z.infer<typeof heldSchema>;

const parseHeld = createStoredParser(heldSchema);

/** Of a trigger at once: a task has at most some 70 kB. */
const mostHeld = 500;
/** What nobody has released for so long, as its trigger is gone from the settings. */
const keptSeconds = 30 * daySeconds;

/** Stores it until it is released, once. When this resolves with another word than `full` it survives any crash. */
export async function holdEvent(
  redis: Redis,
  trigger: string,
  delivery: string,
  event: HeldEvent,
): Promise<"held" | "duplicate" | "full"> {
  const name = keys.hookHeld(trigger);
  if ((await redis.hlen(name)) >= mostHeld) return "full";
  const isFirst = await redis.hsetnx(name, delivery, JSON.stringify(event));
  await redis.expire(name, keptSeconds);
  return isFirst === 1 ? "held" : "duplicate";
}

export async function isHeld(redis: Redis, trigger: string, delivery: string): Promise<boolean> {
  return (await redis.hexists(keys.hookHeld(trigger), delivery)) === 1;
}

/** What waits, in the order in which it came. What cannot be read is reported and stays. */
export async function listHeld(
  redis: Redis,
  trigger: string,
): Promise<{ delivery: string; event: HeldEvent }[]> {
  const name = keys.hookHeld(trigger);
  const stored = Object.entries(await redis.hgetall(name));
  return stored
    .flatMap(([delivery, json]) => {
      const event = readStored(redis, parseHeld, json, `The held event ${delivery} of ${name}`);
      return event ? [{ delivery, event }] : [];
    })
    .toSorted((a, b) => a.event.at - b.event.at);
}

/** It is in its thread, or nobody wants it any more. */
export async function dropHeld(redis: Redis, trigger: string, delivery: string): Promise<void> {
  await redis.hdel(keys.hookHeld(trigger), delivery);
}
