import type { Redis } from "ioredis";
import type { ThreadId } from "../../../chat/threads.ts";
import { keys } from "../../redis/keys.ts";

/** How much a thread shows of a turn: only its answer, what it does, or each call with its result. */
export type Verbosity = (typeof verbosities)[number];

const verbosities = ["quiet", "normal", "full"] as const;

/** What the field of the session's head says; another word, from a later Heddle, counts as none. */
export function readVerbosity(field: string | undefined): Verbosity | undefined {
  return verbosities.find((verbosity) => verbosity === field);
}

/** Sets how much a thread shows of its turns; false when it has no session. */
export async function setVerbosity(redis: Redis, thread: ThreadId, verbosity: Verbosity): Promise<boolean> {
  if (!(await redis.exists(keys.head(thread)))) return false;
  await redis.hset(keys.head(thread), "verbosity", verbosity);
  return true;
}
