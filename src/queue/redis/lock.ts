import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";

/** Held until it is released or its time is over, whichever comes first. */
export interface Lock {
  /** Begins its time anew. False where it is another's by now. */
  extend(): Promise<boolean>;
  /** Does nothing where it is another's by now: who stood still for too long must not end it. */
  release(): Promise<void>;
}

/** What is done to the lock, if it still has the value of its holder. */
const ifOwn = (command: string) =>
  `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call(${command}) end return 0`;
const release = ifOwn('"del", KEYS[1]');
const extend = ifOwn('"expire", KEYS[1], ARGV[2]');

/**
 * Takes a lock for so many seconds; undefined where somebody else has it. It only saves work: a holder may lose it while
 * it stands still, so what two do at once must be harmless.
 *
 * @example
 * const lock = await takeLock(redis, keys.auditHeld, 60);
 */
export async function takeLock(redis: Redis, key: string, seconds: number): Promise<Lock | undefined> {
  const own = randomBytes(8).toString("hex");
  if ((await redis.set(key, own, "EX", seconds, "NX")) === null) return undefined;
  return {
    extend: async () => (await redis.eval(extend, 1, key, own, seconds)) === 1,
    release: async () => void (await redis.eval(release, 1, key, own)),
  };
}
