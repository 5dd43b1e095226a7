import type { Redis } from "ioredis";
import { createRareSentences } from "../queue/redis/rare-sentences.ts";
import { ConnectionSilent } from "../queue/redis/silence.ts";
import { explainRefusal } from "../queue/redis/unavailable.ts";
import type { Logger } from "../telemetry/log.ts";

/** Logs what went wrong in this process; `what` is for an error of which no more is known. */
export type ErrorLog = (error: unknown, what?: string) => void;

const refusalRemedy = "Look at its log, its disk and what its user may do. Turns wait until then.";

/** Logs what a process met; what Redis refuses to all that it does, in a sentence and now and then. */
export function createErrorLog({ log, redis }: { log: Logger; redis: Redis }): ErrorLog {
  const isDue = createRareSentences();
  return (error, what = "the worker met an error") => {
    const refusal = explainRefusal(error, refusalRemedy);
    // That Redis is away or silent is in the log once, and every connection fails of it, many times a second.
    const isKnown =
      redis.status !== "ready" || error instanceof ConnectionSilent || isLookingForPrimary(error);
    const isTold = isKnown || (refusal !== undefined && !isDue(refusal));
    log[isTold ? "debug" : "error"]({ err: error }, refusal ?? what);
  };
}

/** What ioredis says at each reconnect, also where the only sentinel answers the next moment. */
function isLookingForPrimary(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("All sentinels are unreachable. Retrying");
}
