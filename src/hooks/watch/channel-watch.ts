import type { Redis } from "ioredis";
import { z } from "zod";
import type { ChannelWatch, Heard } from "../../chat/channel-watch.ts";
import type { InboundMessage } from "../../chat/inbound.ts";
import { threadId, type ThreadId, type ThreadRef } from "../../chat/threads.ts";
import type { WatchSettings } from "../../config/watch.ts";
import { nameWatch } from "../../queue/budgets/usage.ts";
import { daySeconds, keys } from "../../queue/redis/keys.ts";
import { loadScript } from "../../queue/redis/script.ts";
import { readListedAt } from "../../queue/session/lists/sweep-list.ts";
import type { TurnQueue } from "../../queue/turns/wake-queue.ts";
import { takeFromHour } from "../hour-limit.ts";
import { takeFromWindow } from "../loop-limit.ts";
import { findQuietEnd } from "../quiet-hours.ts";
import { createWordFilter } from "./words.ts";

const joinScript = loadScript(new URL("scripts/join-burst.lua", import.meta.url));
/** See its header. */
const joinReply = z.tuple([z.string(), z.number(), z.number()]);

export interface WatchOptions {
  redis: Redis;
  queue: Pick<TurnQueue, "wake">;
  /** How that channel is watched, `platform:workspace:channel`; undefined where it is not. */
  settings(channel: string): WatchSettings | undefined;
  now(): number;
  onProblem(problem: string, error?: unknown): void;
}

/** People who go on writing do not put off the turn for longer than so many times the pause that it waits for. */
const longestBurst = 6;
/** What wakes later is left to the sweeper, ms. */
const longestTimerMs = 900_000;

/** Like a message that is known when it is delivered again. */
const seenSeconds = daySeconds;

function channelOf({ platform, workspace, channel }: Pick<ThreadRef, "platform" | "workspace" | "channel">) {
  return `${platform}:${workspace}:${channel}`;
}

export function createChannelWatch(options: WatchOptions): ChannelWatch {
  const { settings } = options;
  const fits = createFilters(options);
  const timers = createWakeTimers(options);

  return {
    isWatched: (place) => settings(channelOf(place)) !== undefined,
    async judge(event) {
      const channel = channelOf(event.thread);
      const watch = settings(channel);
      if (!watch) return { kind: "ignored", why: "nobody watches that channel" };
      const place = placeOf(event, channel);
      const isKnown = (await options.redis.exists(place.chosen)) === 1;
      const refused = isKnown ? undefined : await refuse(options, watch, { event, channel, place, fits });
      return refused ?? join(options, watch, { event, channel, place });
    },
    wakeLater: timers.wakeLater,
    close: timers.close,
  };
}

/** Where it is kept to which thread a message goes, and the messages in a row that it belongs to. */
interface BurstPlace {
  chosen: string;
  burst: string;
}

interface Judging {
  event: InboundMessage;
  channel: string;
  place: BurstPlace;
}

/** Messages in the channel itself belong together, those of a thread among themselves. */
function placeOf({ thread, ref, addressed }: InboundMessage, channel: string): BurstPlace {
  const within = addressed === "follow-up" ? thread.thread : "channel";
  return {
    chosen: keys.watchedMessage(channel, ref.message),
    burst: keys.watchedBurst(channel, within),
  };
}

/** Says why the message begins nothing, or joins nothing; undefined when it does. */
async function refuse(
  options: WatchOptions,
  watch: WatchSettings,
  { event, channel, place, fits }: Judging & { fits: Filters },
): Promise<Heard | undefined> {
  const why = await findRefusal(options, watch, { event, channel, place, fits });
  return why === undefined ? undefined : { kind: "ignored", why };
}

async function findRefusal(
  options: WatchOptions,
  watch: WatchSettings,
  { event, channel, place, fits }: Judging & { fits: Filters },
): Promise<string | undefined> {
  const { author, text, attachments, ref } = event;
  const isNamed = watch.from?.includes(author.id) === true;
  if (watch.from ? !isNamed : author.standing === "bot") return "what they write here is not listened to";
  if (text.trim() === "" && attachments.length === 0) return "no text";
  if (!fits(channel, watch, text)) return "it has none of the words that are listened for";
  // What joins others begins no turn.
  const till = await options.redis.hget(place.burst, "till");
  if (till !== null && Number(till) > options.now()) return undefined;
  const { perHour, loopLimit } = watch;
  const name = nameWatch(channel);
  if (loopLimit) {
    const of = { trigger: name, key: "channel", message: ref.message, limit: loopLimit, now: options.now() };
    const { isBeyond, ...beyond } = { first: false, ...(await takeFromWindow(options.redis, of)) };
    if (isBeyond && beyond.first)
      options.onProblem(
        `What is said in ${channel} has begun ${loopLimit.events} turns within ${loopLimit.minutes} minutes, the limit against loops: more is ignored until fewer have.`,
      );
    if (isBeyond) return "it would begin more turns than the limit against loops allows";
  }
  const limit = { name, perHour, what: `the watched channel ${channel}` };
  const isFull = (await takeFromHour(options, limit, ref.message)) > 0;
  return isFull ? "the turns of this hour are used up" : undefined;
}

async function join(
  { redis, now }: WatchOptions,
  { debounceSeconds, quietHours }: WatchSettings,
  { event, channel, place }: Judging,
): Promise<Heard> {
  const at = now();
  const debounceMs = debounceSeconds * 1_000;
  const quietEnd = quietHours && findQuietEnd(quietHours, at);
  const reply = await joinScript.run(
    redis,
    [place.chosen, place.burst],
    [
      threadId(event.thread),
      at,
      quietEnd ?? at + debounceMs,
      quietEnd === undefined ? longestBurst * debounceMs : "",
      seenSeconds,
    ],
  );
  const [thread, begins, before] = joinReply.parse(reply);
  const wake = { at: begins, ...(before >= 0 && { insteadOf: before }) };
  return { kind: "taken", thread, trigger: nameWatch(channel), wake };
}

type Filters = (channel: string, watch: WatchSettings, text: string) => boolean;

/** The filters of the channels, each made once for its settings. */
function createFilters({ now, onProblem }: WatchOptions): Filters {
  const known = new Map<string, { watch: WatchSettings; fits: (text: string) => boolean }>();
  return (channel, watch, text) => {
    let filter = known.get(channel);
    if (filter?.watch !== watch) {
      const onSlow = () =>
        onProblem(
          `The expression of channels.${channel}.watch.pattern searches too long in a message: for a minute it matches nothing there.`,
        );
      filter = { watch, fits: createWordFilter(watch, { now, onSlow }) };
      known.set(channel, filter);
    }
    return filter.fits(text);
  };
}

/** Wakes threads at their time. What is stored meanwhile, here or by another process, puts that off. */
function createWakeTimers({ redis, queue, now, onProblem }: WatchOptions) {
  const timers = new Map<ThreadId, NodeJS.Timeout>();

  const wake = async (thread: ThreadId): Promise<void> => {
    const listed = Number((await readListedAt(redis, thread)) ?? 0);
    if (listed > now()) return wakeLater(thread, listed);
    await queue.wake(thread, { people: false, scheduled: true });
  };

  const wakeLater = (thread: ThreadId, at: number): void => {
    clearTimeout(timers.get(thread));
    timers.delete(thread);
    const inMs = at - now();
    if (inMs > longestTimerMs) return;
    const fire = () => {
      timers.delete(thread);
      wake(thread).catch((error: unknown) =>
        onProblem(`What was said in ${thread} begins its turn with the next sweep.`, error),
      );
    };
    timers.set(thread, setTimeout(fire, Math.max(1, inMs)).unref());
  };

  return {
    wakeLater,
    close() {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
}
