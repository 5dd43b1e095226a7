import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { channels, keys } from "../redis/keys.ts";
import { loadScript } from "../redis/script.ts";
import type { Hint, SessionLease } from "../session/lease.ts";

/** `delta`: what a model has streamed since the last event of the same type. */
interface LiveTurnEvent {
  type: string;
  delta?: string;
}

/**
 * Events wait so long for a write of their session that takes them along, ms. What a model streams is put together
 * meanwhile: it comes in hundreds of pieces a second.
 */
const gatherMs = 50;

const publishScript = loadScript(new URL("scripts/publish.lua", import.meta.url));

/**
 * Gives what publishes the events of a thread to whoever looks on at this moment. Nothing depends on it: what must
 * not be lost is in the journal and the outbox.
 *
 * @param carrier takes events along with its writes, so that they cost no command of their own
 */
export function createLivePublisher(
  redis: Redis,
  thread: ThreadId,
  onError: (error: unknown) => void,
  carrier?: Pick<SessionLease, "carryHints">,
): (event: LiveTurnEvent) => void {
  const gathered: LiveTurnEvent[] = [];
  let timer: NodeJS.Timeout | undefined;
  const drain = (): Hint[] => {
    clearTimeout(timer);
    timer = undefined;
    return gathered
      .splice(0)
      .flatMap((event) => [
        { channel: channels.live(thread), message: JSON.stringify(event) },
        ...(changesLine(event) ? [{ channel: channels.sessions, message: thread }] : []),
      ]);
  };
  /** Heddle was closed meanwhile. */
  const isClosed = () => redis.status === "end";
  const send = () => {
    const hints = drain();
    if (isClosed()) return;
    publishScript
      .run(
        redis,
        [keys.head(thread)],
        [hints.length, ...hints.flatMap(({ channel, message }) => [channel, message])],
      )
      .catch((error: unknown) => isClosed() || onError(error));
  };
  carrier?.carryHints(drain);
  return (event) => {
    const last = gathered.at(-1);
    if (event.delta !== undefined && last?.delta !== undefined && last.type === event.type)
      gathered[gathered.length - 1] = { ...event, delta: last.delta + event.delta };
    else gathered.push(event);
    timer ??= setTimeout(send, gatherMs).unref();
  };
}

/** Whether the session's line in a list looks different after it. */
function changesLine({ type }: LiveTurnEvent): boolean {
  return ["turn-start", "question", "turn-end"].includes(type);
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
  let isClosed = false;
  // Closing the connection fails what was sent last, of which nothing is missed.
  const report = (error: unknown) => isClosed || onError(error);
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
        subscriber.subscribe(channel).then(() => tell(channel, null), report);
      }
      return () => {
        const left = listeners.get(channel);
        left?.delete(onMessage);
        if (left?.size !== 0) return;
        listeners.delete(channel);
        subscriber.unsubscribe(channel).catch(report);
      };
    },
    close() {
      isClosed = true;
      subscriber.disconnect();
    },
  };
}
