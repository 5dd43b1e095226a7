import type { Redis } from "ioredis";
import type { Speaker, UserMessage } from "../agent/messages.ts";
import { cutWords } from "../agent/text/text.ts";
import { escapeMarkdown } from "../chat/escape-markdown.ts";
import { type ChatSurface, SurfaceError } from "../chat/surface.ts";
import { parseThreadId, threadId, type ThreadId } from "../chat/threads.ts";
import type { TriggerSettings } from "../config/triggers.ts";
import type { RateLimiter } from "../queue/outbox/rate-limit.ts";
import { failpoint } from "../queue/redis/failpoint.ts";
import { daySeconds, keys } from "../queue/redis/keys.ts";
import type { Replicate } from "../queue/redis/replication.ts";
import { deliver } from "../queue/session/mailbox/mailbox.ts";
import { rememberMessages } from "../queue/session/mailbox/message-threads.ts";
import type { TurnQueue } from "../queue/turns/wake-queue.ts";
import type { KeyedThread, ThreadsOfKeys } from "./thread-of-key.ts";

export interface EventOptions {
  redis: Redis;
  queue: Pick<TurnQueue, "wake">;
  output: RateLimiter;
  surface(platform: string): ChatSurface;
  /** Whether that person may ask for work there. `why` is a sentence for the log. */
  mayAsk(thread: ThreadId, author: Speaker): Promise<{ allowed: true } | { allowed: false; why: string }>;
  /** The accounts that the agent itself works under at GitHub. Default: none is known. */
  ownAccounts?(): Promise<ReadonlySet<string>>;
  /** Waits until replicas have what was written; without it none is waited for. */
  replicate?: Replicate;
  now(): number;
  onProblem(problem: string, error?: unknown): void;
}

/** What became of an event. After `accepted` and `duplicate` it survives any crash. */
export type EventResult =
  | { kind: "accepted" | "duplicate"; thread: ThreadId }
  /** It is stored, and goes to its thread when quiet hours end (ms). */
  | { kind: "held"; isNew: boolean; until: number }
  /** The filter does not want it. */
  | { kind: "ignored" }
  /** The agent would feed on its own work. */
  | { kind: "dropped"; why: "own-work" | "loop" }
  | { kind: "forbidden" }
  /** The hour's events are used up, or too much waits in the thread. */
  | { kind: "too-many"; retryAfterSeconds: number };

/**
 * Resolves as the work does, once replicas have what it has stored: its sender does not send it again.
 * @param held where what is held is stored
 */
export async function untilReplicated(
  { replicate }: Pick<EventOptions, "replicate">,
  work: () => Promise<EventResult>,
  held?: string,
): Promise<EventResult> {
  const reachReplicas = await replicate?.(undefined);
  const result = await work();
  if ("thread" in result) await reachReplicas?.(result.thread);
  if (result.kind === "held") await reachReplicas?.(held);
  return result;
}

/** Longer than any service repeats a delivery: GitHub does it for three days. */
export const seenSeconds = 4 * daySeconds;
const shownChars = 1_500;
/** A full mailbox may have room again by then, s. */
export const fullSeconds = 60;

/** Where an event of a trigger is put, and what it takes. */
export interface Placing extends EventOptions {
  threads: ThreadsOfKeys;
  name: string;
  trigger: TriggerSettings;
  signal: AbortSignal;
}

/** What is put into a thread. */
export interface Arrival {
  delivery: string;
  key: string;
  message: UserMessage;
}

/** Puts the task into its thread, which is opened for it where there is none, and wakes it. */
export async function putIntoThread(of: Placing, { delivery, key, message }: Arrival): Promise<EventResult> {
  const { redis, name, now } = of;
  // Of this delivery, not of the key: another event may have replaced a thread that is gone.
  const chosen = keys.hookDelivery(name, delivery);
  const thread =
    (await redis.get(chosen)) ??
    (await chooseThread(of, chosen, (await openAndTell(of, key, message)).thread));
  const { kind } = await deliver(redis, thread, message, {
    ...{ onlyIfSession: false, seenSeconds, now: now() },
  });
  if (kind === "full") return { kind: "too-many", retryAfterSeconds: fullSeconds };
  await of.queue.wake(thread);
  return { kind: kind === "duplicate" ? kind : "accepted", thread };
}

/** Settles which thread the delivery goes to, for every gateway that gets it. @returns the one that was settled first */
async function chooseThread({ redis }: Placing, chosen: string, thread: ThreadId): Promise<ThreadId> {
  const isFirst = await redis.set(chosen, thread, "EX", seenSeconds, "NX");
  return isFirst ? thread : ((await redis.get(chosen)) ?? thread);
}

/** The event's thread, which shows the task already. One that is gone on its platform is replaced. */
async function openAndTell(of: Placing, key: string, message: UserMessage): Promise<KeyedThread> {
  const { threads, name } = of;
  const find = () =>
    threads.findOrOpen(
      { trigger: name, key, message: message.id },
      (first, since) => open(of, `hook:${first}`, message, since),
      of.signal,
    );
  const place = await find();
  if (place.first === message.id) return place;
  const news = { id: message.id, markdown: describe(name, message), what: `the trigger ${name}` };
  if ((await announce(of, place.thread, news)) === "told") return place;
  await threads.forget(name, key);
  return await find();
}

async function open(
  { trigger, name, surface: surfaceOf, output, redis, signal }: Placing,
  postKey: string,
  message: UserMessage,
  since: number | undefined,
): Promise<ThreadId> {
  const channel = parseThreadId(`${trigger.channel}:none`);
  const surface = surfaceOf(channel.platform);
  if (!surface.openThread) throw new Error(`No thread can be opened on ${channel.platform}.`);
  const place = { ...channel, thread: channel.channel };
  const opened = await output.write(surface, place, "question", signal, () =>
    failpoint("reply", async () => surface.openThread?.(channel, describe(name, message), postKey, since)),
  );
  if (!opened) throw new Error(`No thread was opened on ${channel.platform}.`);
  const thread = threadId(opened.thread);
  await rememberMessages(redis, thread, [opened.ref]);
  return thread;
}

/** Posted at most once an event: it only says why something begins. `gone`: nobody can be told anything there. */
export async function announce(
  {
    redis,
    output,
    surface: surfaceOf,
    onProblem,
    signal,
  }: Pick<EventOptions, "redis" | "output" | "surface" | "onProblem"> & { signal: AbortSignal },
  thread: ThreadId,
  { id, markdown, what }: { id: string; markdown: string; what: string },
): Promise<"told" | "gone"> {
  const isFirst = await redis.set(keys.announced(thread, id), "1", "EX", seenSeconds, "NX");
  if (!isFirst) return "told";
  const place = parseThreadId(thread);
  const surface = surfaceOf(place.platform);
  const post = () =>
    failpoint("reply", () => surface.post(place, { kind: "notice", markdown }, `hook:${id}`));
  try {
    await rememberMessages(redis, thread, await output.write(surface, place, "question", signal, post));
  } catch (error) {
    if (!signal.aborted && !(error instanceof SurfaceError)) throw error;
    if (error instanceof SurfaceError && error.kind === "gone") return "gone";
    onProblem(`An event of ${what} could not be announced in ${thread}.`, error);
  }
  return "told";
}

function describe(name: string, { author, text }: UserMessage): string {
  const shown = cutWords(text.split("\n").slice(2).join("\n"), shownChars);
  const quoted = shown.split("\n").map((line) => `> ${escapeMarkdown(line)}`);
  return [`🔔 Trigger ${escapeMarkdown(name)}, for ${escapeMarkdown(author.name)}:`, ...quoted].join("\n");
}
