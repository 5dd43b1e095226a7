import type { Redis } from "ioredis";
import { z } from "zod";
import type { InboundEvent, InboundMessage, IntakeResult } from "../../chat/inbound.ts";
import type { ChatSurface } from "../../chat/surface.ts";
import type { LiveFeed } from "../../queue/outbox/live-events.ts";
import { channels, daySeconds, keys } from "../../queue/redis/keys.ts";
import { channelId, readNames } from "../names.ts";

/** Somebody's message to the bot, as proof that messages arrive. */
export interface HeardMessage {
  /** Ms since the epoch. */
  at: number;
  /** What its author is called. */
  by: string;
  /** `#general`, or `direct messages`. */
  where: string;
  /** What its author was told instead of getting an answer. */
  refusal?: string;
}

/** What gateways have heard from the platforms. */
export interface HeardMessages {
  /** By platform, the latest that was noted. */
  read(): Promise<ReadonlyMap<string, HeardMessage>>;
  /** Calls back when another was noted, by whichever gateway; returns how to end it. */
  watch(onChange: () => void): () => void;
}

const heardSchema: z.ZodType<HeardMessage> = z.looseObject({
  ...{ at: z.number(), by: z.string(), where: z.string() },
  refusal: z.string().exactOptional(),
});

/** After it has noted one, a process notes further messages of a platform that came to the same only so often, ms. */
const everyMs = 5 * 60_000;
const keptSeconds = 30 * daySeconds;

/**
 * Notes that a platform's messages arrive: the first one that is addressed to the bot after a process was started, and
 * of later ones so few that it costs nothing. Not of the console, whose messages never leave this machine.
 */
export function createHeardRecorder({
  redis,
  surface,
  now,
}: {
  redis: Redis;
  surface(platform: string): ChatSurface;
  now(): number;
}): (event: InboundEvent, result: IntakeResult) => Promise<void> {
  const noted = new Map<string, { at: number; refusal: string | undefined }>();
  return async (event, result) => {
    if (!isToBot(event)) return;
    const { platform } = event.thread;
    const [at, refusal] = [now(), result.kind === "refused" ? result.reply : undefined];
    const before = noted.get(platform);
    if (before && before.refusal === refusal && at - before.at < everyMs) return;
    noted.set(platform, { at, refusal });
    try {
      const where = await describePlace(redis, surface(platform), event);
      const heard = { at, by: event.author.name, where, ...(refusal !== undefined && { refusal }) };
      await redis
        .multi()
        .hset(keys.heard, platform, JSON.stringify(heard satisfies HeardMessage))
        // It names somebody.
        .expire(keys.heard, keptSeconds)
        .publish(channels.heard, platform)
        .exec();
    } catch (error) {
      noted.delete(platform);
      throw error;
    }
  };
}

function isToBot(event: InboundEvent): event is InboundMessage {
  return (
    event.kind === "message" &&
    ["mention", "direct"].includes(event.addressed) &&
    event.author.standing !== "bot" &&
    event.thread.platform !== "local"
  );
}

async function describePlace(
  redis: Redis,
  surface: ChatSurface,
  { thread }: InboundMessage,
): Promise<string> {
  const id = channelId(thread);
  const known = (await readNames(redis, [id])).get(id);
  const name = known ?? (await surface.channelName?.(thread).catch(() => undefined));
  if (name === undefined) return `the channel ${thread.channel}`;
  return name === "direct messages" ? name : `#${name.replace(/^#/, "")}`;
}

/** @param mask takes out what is secret */
export function openHeardMessages(
  redis: Redis,
  feed: LiveFeed,
  mask: (text: string) => string,
): HeardMessages {
  return {
    async read() {
      const stored = Object.entries(await redis.hgetall(keys.heard));
      return new Map(
        stored.flatMap(([platform, json]) => {
          const heard = parseHeard(json);
          if (!heard) return [];
          const { by, where, refusal } = heard;
          const masked = { ...heard, by: mask(by), where: mask(where) };
          return [[platform, refusal === undefined ? masked : { ...masked, refusal: mask(refusal) }]];
        }),
      );
    },
    watch: (onChange) => feed.follow(channels.heard, () => onChange()),
  };
}

/** Undefined for what a later version may have written: the next message replaces it. */
export function parseHeard(json: string): HeardMessage | undefined {
  try {
    return heardSchema.parse(JSON.parse(json));
  } catch {
    return undefined;
  }
}
