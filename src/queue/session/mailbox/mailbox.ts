import type { Redis } from "ioredis";
import { z } from "zod";
import type { JournalRecord } from "../../../agent/journal/journal.ts";
import type { UserMessage } from "../../../agent/messages.ts";
import type { WakeTime } from "../../../chat/channel-watch.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import { daySeconds, keys } from "../../redis/keys.ts";
import { isOutOfMemory, OutOfMemory } from "../../redis/out-of-memory.ts";
import { loadScript, scriptJson } from "../../redis/script.ts";
import { readRedisTime } from "../../redis/time.ts";
import { readMessage, readStopOrder } from "../stored.ts";
import { enqueueForSweep } from "../lists/sweep-list.ts";

const deliverScript = loadScript(new URL("../scripts/deliver.lua", import.meta.url));
/** What that script replies: the result, how many questions are open, whether scheduled tasks wait; see its header. */
const deliverReply = z.tuple([z.int(), z.int(), z.int()]);

export type Delivery =
  | ({ kind: "accepted"; position: number } & Beside)
  | ({ kind: "duplicate" } & Beside)
  | { kind: "no-session" }
  /** Bots have written all that they may until a person does. */
  | { kind: "bots-only" }
  /** As much waits as may. */
  | { kind: "full" };

/** What may wait in a mailbox: a person who has written so much before any of it was taken is asked to wait. */
const mostWaiting = { messages: 1_000, bytes: 4_000_000 };

/** What a delivery has found in the thread besides. */
interface Beside {
  /** It has questions open. */
  hasQuestions?: true;
  /** Messages wait in it that were scheduled. */
  hasScheduled?: true;
}

/**
 * Puts a message into its thread's mailbox, once, and lists the thread for the sweeper.
 * When this resolves the message survives any crash.
 *
 * @throws {OutOfMemory} when nothing of it could be stored
 * @param onlyIfSession take it only where a session is alive (follow-ups without a mention)
 * @param botLimit for a message of a bot: so many are taken without one of a person between them
 * @param seenSeconds how long the message is known when it is delivered again. Default: a day
 * @param wake when the sweeper finds the thread. Default: at once
 * @param mayOverflow take it however much waits: nobody could send it again
 */
export async function deliver(
  redis: Redis,
  thread: ThreadId,
  message: UserMessage,
  options: {
    onlyIfSession: boolean;
    botLimit?: number;
    seenSeconds?: number;
    mayOverflow?: boolean;
    wake?: WakeTime;
    now: number;
  },
): Promise<Delivery> {
  const most = options.mayOverflow ? { messages: "", bytes: "" } : mostWaiting;
  const at = message.scheduled ? await correctHostTime(redis, thread, message.at) : message.at;
  const record: JournalRecord = { type: "user", message: { ...message, at } };
  let answer: z.infer<typeof deliverReply>;
  try {
    const reply = await deliverScript.run(
      redis,
      [keys.head(thread), keys.mail(thread), keys.seen(thread, message.id)],
      [
        scriptJson(record),
        options.seenSeconds ?? daySeconds,
        options.onlyIfSession ? "1" : "0",
        options.now,
        options.botLimit ?? "",
        most.messages,
        most.bytes,
      ],
    );
    // See the header of deliver.lua.
    answer = deliverReply.parse(reply);
  } catch (error) {
    throw isOutOfMemory(error) ? new OutOfMemory(error) : error;
  }
  const [result, questions, scheduled] = answer;
  if (result === -2) return { kind: "no-session" };
  if (result === -3) return { kind: "bots-only" };
  if (result === -4) return { kind: "full" };

  // Also for a duplicate: the first delivery may have died before it came here.
  await enqueueForSweep(redis, thread, options.now, options.wake);
  const beside: Beside = {
    ...(questions > 0 && { hasQuestions: true }),
    ...(scheduled > 0 && { hasScheduled: true }),
  };
  return result === -1
    ? { kind: "duplicate", ...beside }
    : { kind: "accepted", position: result - 1, ...beside };
}

/**
 * The time of a message that no platform gives one, ms. It comes at this moment, so that a stop which is recorded already
 * is older, and one that follows is newer, whichever clock is wrong.
 */
async function correctHostTime(redis: Redis, thread: ThreadId, hostTime: number): Promise<number> {
  const [now, order] = await Promise.all([readRedisTime(redis), redis.get(keys.stop(thread))]);
  const stop = order === null ? undefined : readStopOrder(redis, thread, order);
  return Math.max(Math.min(hostTime, now), stop?.at ?? 0);
}

/** The messages that no turn has taken, oldest first. */
export async function readMailbox(redis: Redis, thread: ThreadId): Promise<UserMessage[]> {
  const entries = await redis.lrange(keys.mail(thread), 0, -1);
  return entries.flatMap((json) => readMessage(redis, thread, json) ?? []);
}

/** The first and the last messages of a mailbox; what lies between them is only counted. */
export interface MailboxEnds {
  /** Oldest first. Those behind `first` are the last ones. */
  messages: UserMessage[];
  /** How many of them wait in a row from the beginning. */
  first: number;
  hidden: number;
}

const shownAtEnd = 50;

/** Looks into a mailbox, at a cost that does not grow with what waits in it. */
export async function readMailboxEnds(redis: Redis, thread: ThreadId): Promise<MailboxEnds> {
  const mail = keys.mail(thread);
  const first = await redis.lrange(mail, 0, 2 * shownAtEnd - 1);
  const hidden = first.length < 2 * shownAtEnd ? 0 : (await redis.llen(mail)) - first.length - shownAtEnd;
  const last =
    first.length < 2 * shownAtEnd
      ? []
      : await redis.lrange(mail, Math.max(first.length, first.length + hidden), -1);
  const messages = [...first, ...last].flatMap((json) => readMessage(redis, thread, json) ?? []);
  return { messages, first: first.length, hidden: Math.max(0, hidden) };
}
