import type { Redis } from "ioredis";
import { z } from "zod";
import { keys } from "../queue/redis/keys.ts";

const hourMs = 3_600_000;
/** What counting an event replies: whether it is new, and how many there are with it. */
const countsSchema = z.tuple([z.int(), z.int()]).rest(z.unknown());

/** How many events may come from somewhere in an hour. */
interface HourLimit {
  /** Of what is counted, in its keys. */
  name: string;
  perHour: number;
  /** For the log, e.g. `the trigger alerts`. */
  what: string;
}

/** Counts the event among those of the hour, once. @returns 0, or after how many seconds there is room again */
export async function takeFromHour(
  { redis, now, onProblem }: { redis: Redis; now(): number; onProblem(problem: string): void },
  { name, perHour, what }: HourLimit,
  id: string,
): Promise<number> {
  const at = now();
  const hour = Math.floor(at / hourMs);
  const [taken, refused] = [keys.hookTaken(name, hour), keys.hookRefused(name, hour)];
  // Together: an attempt of the same delivery that is being refused stands in the set for a moment.
  const counted = await redis
    .multi()
    .sadd(taken, id)
    .scard(taken)
    .expire(taken, (2 * hourMs) / 1_000)
    .exec();
  const [isNew, count] = countsSchema.parse(counted?.map(([error, value]) => error ?? value));
  if (isNew && count === 1) {
    const before = await redis.getdel(keys.hookRefused(name, hour - 1));
    if (before !== null)
      onProblem(`In the hour before, ${before} requests of ${what} were beyond its limit.`);
  }
  if (count <= perHour) return 0;
  if (isNew) await redis.srem(taken, id);
  const all = await redis.incr(refused);
  await redis.expire(refused, (3 * hourMs) / 1_000);
  if (all === 1)
    onProblem(
      `${what.charAt(0).toUpperCase()}${what.slice(1)} has brought ${perHour} events in this hour, which is its limit: it takes no more until the next.`,
    );
  return Math.ceil(((hour + 1) * hourMs - at) / 1_000);
}
