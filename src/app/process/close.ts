import { askForKey } from "../../queue/redis/primaries.ts";
import type { AppContext } from "../context.ts";
import type { Running } from "./running.ts";

/**
 * For how long the end of the program waits for a Redis that does not answer, ms: well below what service managers grant,
 * so that a restart during an outage is quick.
 */
const patienceMs = 3_000;
const askMs = 500;
/** For what needs no Redis and yet does not end, ms. */
const graceMs = 1_000;

/**
 * Closes the parts, all at once (a platform that a gateway waits for must not hold up the turns that others are to go on
 * with), and then what they share. It takes the time that it takes while Redis answers: a hand-over is never cut short.
 * Without Redis nothing can be handed over; other workers take over what ran here once its locks have expired.
 *
 * @returns false when it was given up because of Redis: connections are still open, so end the process
 */
export async function closeAll(parts: readonly Running[], context: AppContext): Promise<boolean> {
  const closing = (async () => {
    await Promise.all(parts.map((part) => part.close()));
    await context.close();
  })();
  // Where it is given up, nobody else hears how it failed.
  closing.catch(() => undefined);
  const watch = watchRedis(context);
  try {
    const isClosed = await Promise.race([closing.then(() => true), watch.gone.then(() => false)]);
    if (isClosed) return true;
    context.log.warn(
      "Redis does not answer, so nothing is handed over: other workers go on once the locks of this one have expired.",
    );
    await endLocally(parts, context);
    return false;
  } finally {
    watch.end();
  }
}

/** Resolves `gone` when Redis has not answered for {@link patienceMs}, over a connection that is made anew for that. */
function watchRedis({ server }: AppContext): { gone: Promise<void>; end(): void } {
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  const client = server.connect({ maxRetriesPerRequest: null });
  // Counted in ticks: this process may have been held up itself.
  let quiet = 0;
  const timer = setInterval(() => {
    quiet += 1;
    if (quiet * askMs > patienceMs) resolve();
    askForKey(client).then(
      () => (quiet = 0),
      () => undefined,
    );
  }, askMs);
  return {
    gone,
    end() {
      clearInterval(timer);
      client.disconnect();
    },
  };
}

/** Ends the processes that were started here: sandboxes and MCP servers. */
async function endLocally(parts: readonly Running[], context: AppContext): Promise<void> {
  const ending = [...parts, context].map(async (part) => part.abandon?.());
  const late = new Promise((resolve) => setTimeout(resolve, graceMs).unref());
  await Promise.race([Promise.allSettled(ending), late]);
}
