import type { Redis } from "ioredis";
import type { ThreadId } from "../adapters/adapter.ts";
import { channels } from "./keys.ts";

/**
 * Publishes and follows the events of a thread for whoever looks on at this moment. Nothing depends on it:
 * what must not be lost is in the journal and the outbox.
 */
export function publishLive(
  redis: Redis,
  thread: ThreadId,
  event: object,
  onError: (error: unknown) => void,
): void {
  redis.publish(channels.live(thread), JSON.stringify(event)).catch(onError);
}

/**
 * Calls back for each event from now on. @param subscriber a connection of its own
 */
export async function followLive(
  subscriber: Redis,
  thread: ThreadId,
  // Only workers of this program publish here.
  onEvent: (event: unknown) => void,
): Promise<void> {
  subscriber.on("message", (_channel, event) => onEvent(JSON.parse(event)));
  await subscriber.subscribe(channels.live(thread));
}
