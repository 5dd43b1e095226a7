import type { Redis } from "ioredis";
import { queuePrefix } from "./keys.ts";
import type { RedisLog } from "./server.ts";

const lookMs = 500;
/** For so long a cluster may elect a primary before it is called away, ms. */
const electionMs = 5_000;

/**
 * Resolves when Redis has answered a command for a key that every role needs. A PING proves less: replicas answer it, and
 * so do the nodes of a cluster that has no primary. There the command waits as every other one does, for a minute, and
 * is then rejected.
 */
export async function askForKey(redis: Redis): Promise<void> {
  await redis.exists(queuePrefix);
}

/**
 * Follows whether a cluster takes commands. Its client is `ready` as long as any node is there, and keeps commands back
 * while there is no primary, so neither its status nor silence tells.
 */
export function followPrimaries(
  control: Redis,
  log: RedisLog,
  awayMs = electionMs,
): { isThere(): boolean; end(): void } {
  // Counted in ticks: this process may have been held up itself.
  let quiet = 0;
  let isAsking = false;
  let isTold = false;
  const hear = () => {
    if (isTold) log.info("The Redis cluster takes commands again.");
    quiet = 0;
    isTold = false;
  };
  const timer = setInterval(() => {
    if (isAsking) quiet += 1;
    if (quiet * lookMs >= awayMs && !isTold) {
      isTold = true;
      log.warn("The Redis cluster has no primary that takes commands: trying again until it has one.");
    }
    if (isAsking) return;
    isAsking = true;
    void askForKey(control)
      .then(hear, () => undefined)
      .finally(() => (isAsking = false));
  }, lookMs).unref();
  return { isThere: () => quiet * lookMs < awayMs, end: () => clearInterval(timer) };
}
