import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { channels } from "../redis/keys.ts";

/** `delta`: what a model has streamed since the last event of the same type. */
interface LiveTurnEvent {
  type: string;
  delta?: string;
}

/** What a model streams is handed on in pieces of this time, ms: it comes in hundreds of them a second. */
const gatherMs = 50;

/**
 * Gives what publishes the events of a thread to whoever looks on at this moment. Nothing depends on it: what must
 * not be lost is in the journal and the outbox.
 */
export function createLivePublisher(
  redis: Redis,
  thread: ThreadId,
  onError: (error: unknown) => void,
): (event: LiveTurnEvent) => void {
  let gathered: LiveTurnEvent | undefined;
  let timer: NodeJS.Timeout | undefined;
  const send = (event: LiveTurnEvent) =>
    void redis.publish(channels.live(thread), JSON.stringify(event)).catch(onError);
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (gathered) send(gathered);
    gathered = undefined;
  };
  return (event) => {
    if (gathered?.type !== event.type) flush();
    if (event.delta !== undefined) {
      gathered = { ...event, delta: (gathered?.delta ?? "") + event.delta };
      timer ??= setTimeout(flush, gatherMs).unref();
      return;
    }
    send(event);
    if (["turn-start", "question", "turn-end"].includes(event.type)) announceSession(redis, thread, onError);
  };
}

/**
 * Calls back with the JSON of each event from now on. @param subscriber a connection of its own
 */
export async function followLive(
  subscriber: Redis,
  thread: ThreadId,
  onEvent: (json: string) => void,
): Promise<void> {
  subscriber.on("message", (_channel, event) => onEvent(event));
  await subscriber.subscribe(channels.live(thread));
}

/** Tells whoever looks on that a session's line in a list may have changed. */
export function announceSession(redis: Redis, thread: ThreadId, onError: (error: unknown) => void): void {
  redis.publish(channels.sessions, thread).catch(onError);
}

/** Follows any number of channels over one connection. */
export interface LiveFeed {
  /** Calls back with each message, and with `null` when some may have been missed. Returns how to end it. */
  follow(channel: string, onMessage: (message: string | null) => void): () => void;
  close(): void;
}

/** @param subscriber a connection of its own; it is closed by {@link LiveFeed.close} */
export function createLiveFeed(subscriber: Redis, onError: (error: unknown) => void): LiveFeed {
  const listeners = new Map<string, Set<(message: string | null) => void>>();
  const tell = (channel: string, message: string | null) => {
    for (const listener of listeners.get(channel) ?? []) listener(message);
  };
  subscriber.on("message", tell);
  // It subscribes again by itself.
  subscriber.on("ready", () => {
    for (const channel of listeners.keys()) tell(channel, null);
  });
  return {
    follow(channel, onMessage) {
      const others = listeners.get(channel);
      if (others) others.add(onMessage);
      else {
        listeners.set(channel, new Set([onMessage]));
        // What was published before the subscription held is missed.
        subscriber.subscribe(channel).then(() => tell(channel, null), onError);
      }
      return () => {
        const left = listeners.get(channel);
        left?.delete(onMessage);
        if (left?.size !== 0) return;
        listeners.delete(channel);
        subscriber.unsubscribe(channel).catch(onError);
      };
    },
    close: () => subscriber.disconnect(),
  };
}
