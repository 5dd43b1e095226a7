import type { Redis } from "ioredis";
import type { JournalRecord } from "../../agent/journal.ts";
import type { UserMessage } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { daySeconds, keys } from "../redis/keys.ts";
import { isOutOfMemory, OutOfMemory } from "../redis/out-of-memory.ts";
import { loadScript, scriptJson } from "../redis/script.ts";
import { enqueueForSweep } from "./sweep-list.ts";

const deliverScript = loadScript(new URL("scripts/deliver.lua", import.meta.url));

export type Delivery =
  | ({ kind: "accepted"; position: number } & Beside)
  | ({ kind: "duplicate" } & Beside)
  | { kind: "no-session" }
  /** Bots have written all that they may until a person does. */
  | { kind: "bots-only" };

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
 */
export async function deliver(
  redis: Redis,
  thread: ThreadId,
  message: UserMessage,
  options: { onlyIfSession: boolean; botLimit?: number; now: number },
): Promise<Delivery> {
  const record: JournalRecord = { type: "user", message };
  let answer: unknown;
  try {
    answer = await deliverScript.run(
      redis,
      [keys.head(thread), keys.mail(thread), keys.seen(thread, message.id)],
      [
        scriptJson(record),
        daySeconds,
        options.onlyIfSession ? "1" : "0",
        options.now,
        options.botLimit ?? "",
      ],
    );
  } catch (error) {
    throw isOutOfMemory(error) ? new OutOfMemory(error) : error;
  }
  // See the header of deliver.lua.
  const [result, questions, scheduled] = answer as [number, number, number];
  if (result === -2) return { kind: "no-session" };
  if (result === -3) return { kind: "bots-only" };

  // Also for a duplicate: the first delivery may have died before it came here.
  await enqueueForSweep(redis, thread, options.now);
  const beside: Beside = {
    ...(questions > 0 && { hasQuestions: true }),
    ...(scheduled > 0 && { hasScheduled: true }),
  };
  return result === -1
    ? { kind: "duplicate", ...beside }
    : { kind: "accepted", position: result - 1, ...beside };
}

/** The messages that no turn has taken, oldest first. */
export async function readMailbox(redis: Redis, thread: ThreadId): Promise<UserMessage[]> {
  // Only `user` records are ever put into a mailbox.
  return (await redis.lrange(keys.mail(thread), 0, -1)).map(
    (entry) => (JSON.parse(entry) as Extract<JournalRecord, { type: "user" }>).message,
  );
}
