import type { Redis } from "ioredis";
import { readChanges } from "../../queue/stores/administration-changes.ts";
import { channels } from "../../queue/redis/keys.ts";
import type { LiveConfiguration } from "./live-configuration.ts";

/** What was not heard of is found after so long at the latest, ms. */
const lookMs = 15_000;

/**
 * Takes what administrators change in chat as soon as it is told, and looks for it now and then; and reloads when
 * somebody asks all processes to. Ends with `close`.
 *
 * @param options.subscriber a connection of its own
 */
export async function followChanges(options: {
  redis: Redis;
  subscriber: Redis;
  configuration: Pick<LiveConfiguration, "change" | "reload">;
  onError(error: unknown): void;
}): Promise<{ close(): Promise<void> }> {
  const { redis, subscriber, configuration, onError } = options;
  const look = async () => {
    if (redis.status === "ready") await configuration.change(await readChanges(redis));
  };
  const hear = (what: string) => {
    const [word, asked] = what.split(" ");
    const taken = word === "reload" ? configuration.reload(asked) : look();
    taken.catch(onError);
  };
  subscriber.on("message", (_channel, what) => hear(what));
  // What was told while the connection was away was not heard.
  subscriber.on("ready", () => hear("changes"));
  await subscriber.subscribe(channels.configuration);
  const looking = setInterval(() => hear("changes"), lookMs).unref();
  return {
    async close() {
      clearInterval(looking);
      subscriber.disconnect();
    },
  };
}
