import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { StopOrder } from "../../agent/events.ts";
import type { JournalRecord } from "../../agent/journal.ts";
import type { UserMessage } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { loadScript, type Script } from "../redis/script.ts";
import { readHeadNumber, readMessage, readRecord, readStopOrder } from "./stored.ts";

const claimScript = loadScript(new URL("scripts/claim.lua", import.meta.url));
const takeScript = loadScript(new URL("scripts/take.lua", import.meta.url));
const appendScript = loadScript(new URL("scripts/append.lua", import.meta.url));
/** What these scripts reply; see their headers. */
const claimReply = z.tuple([z.int(), z.int(), z.int()]);
const takeReply = z.tuple([z.array(z.string()), z.array(z.string()), z.string()]);

/** Thrown by every write of a worker whose session another worker has claimed. It must end silently. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** Fields of a session's head that the holder of the lease may set; "" removes one. */
export interface HeadFields {
  status?: "running" | "idle";
  /** `1`: handed over on purpose, so the next claim is no sign of a crash. */
  handover?: "0" | "1";
  /** JSON of the progress message of the running turn, so that whoever resumes it goes on editing it. */
  progress?: string;
  /** How many of the session's withdrawn messages the thread was told of. */
  told?: string;
  /** `1`: the platform did not take the last turn's message, so that only the journal has it for sure. */
  unsaid?: string;
  /** What the turns that have ended cost together, US dollars. */
  cost?: string;
  /** By id; see questions.ts. */
  [question: `question:${string}` | `decision:${string}` | `asked:${string}`]: string;
}

export interface Change {
  fields?: HeadFields;
  /** Posting key to JSON; null removes the entry. */
  outbox?: Readonly<Record<string, string | null>>;
  /** Posting key to JSON of entries that are done: removed unless the key has another entry by now. */
  done?: Readonly<Record<string, string>>;
}

/** What has left the mailbox, and the newest stop order. */
export interface Dequeued {
  taken: UserMessage[];
  withdrawn: UserMessage[];
  stop: StopOrder | undefined;
}

/** The right to write to one session, until somebody else claims it. */
export interface SessionLease {
  readonly thread: ThreadId;
  /** Claims in a row, this one included, without a new record in between. */
  readonly claimsWithoutProgress: number;
  read(): Promise<JournalRecord[]>;
  head(): Promise<Record<string, string>>;
  /** Whether nobody else has claimed the session. */
  holds(): Promise<boolean>;
  /** Appends atomically. @throws LeaseLost */
  append(records: readonly JournalRecord[], change?: Change): Promise<void>;
  /**
   * Moves the mailbox into the journal, behind the records of `before`; `start` is written first if any message is taken.
   * `withdrawn` are the messages that a stop order has overtaken. @throws LeaseLost
   */
  take(start?: JournalRecord, before?: readonly JournalRecord[]): Promise<Dequeued>;
  /** Only withdraws what a stop order has overtaken; the rest stays in the mailbox. @throws LeaseLost */
  withdraw(): Promise<UserMessage[]>;
}

/** Claims a session: every later write of the earlier holder is refused. */
export async function claimSession(redis: Redis, thread: ThreadId): Promise<SessionLease> {
  const head = keys.head(thread);
  const [epoch, generation, stuck] = claimReply.parse(await claimScript.run(redis, [head], [randomUUID()]));
  const log = keys.log(thread, generation);

  // Numbered, so that a write which the client repeats after a lost connection is applied once. Always one at
  // a time: Redis remembers only the last.
  let writes = 0;
  let writing: Promise<unknown> = Promise.resolve();
  const write = (script: Script, scriptKeys: string[], args: (string | number)[]): Promise<unknown> => {
    const number = `${epoch}.${++writes}`;
    const result = writing.then(() => script.run(redis, scriptKeys, [epoch, number, ...args]));
    writing = result.catch(() => undefined);
    return result.then((value) => {
      if (value === -1) throw new LeaseLost(thread);
      return value;
    });
  };

  const move = async (
    start: string,
    takeAll: "0" | "1",
    before: readonly JournalRecord[] = [],
  ): Promise<Dequeued> => {
    const mailbox = [
      ...[head, log, keys.mail(thread), keys.stop(thread), keys.asked(thread)],
      keys.unauthorized(thread),
    ];
    const args = [start, takeAll, ...before.map(json)];
    const [taken, withdrawn, stop] = takeReply.parse(await write(takeScript, mailbox, args));
    return {
      taken: taken.flatMap((entry) => readMessage(redis, thread, entry) ?? []),
      withdrawn: withdrawn.flatMap((entry) => readMessage(redis, thread, entry) ?? []),
      stop: stop ? readStopOrder(redis, thread, stop) : undefined,
    };
  };

  // Whoever has the session alone adds to its journal, and nothing in it changes: a long one is parsed once.
  const read: JournalRecord[] = [];

  return {
    thread,
    claimsWithoutProgress: stuck,
    async read() {
      const from = read.length;
      for (const [index, entry] of (await redis.lrange(log, from, -1)).entries())
        read[from + index] = readRecord(redis, thread, from + index, entry);
      return [...read];
    },
    head: () => redis.hgetall(head),
    holds: async () => (await redis.hget(head, "epoch")) === String(epoch),
    async append(records, change = {}) {
      const fields = Object.entries(change.fields ?? {}).filter((entry) => entry[1] !== undefined);
      const outbox = Object.entries(change.outbox ?? {});
      const done = Object.entries(change.done ?? {});
      await write(
        appendScript,
        [head, log, keys.outbox(thread)],
        [
          fields.length,
          ...fields.flat(),
          outbox.length,
          ...outbox.flatMap(([key, value]) => [key, value ?? ""]),
          done.length,
          ...done.flat(),
          ...records.map(json),
        ],
      );
    },
    take: (start, before) => move(start ? json(start) : "", "1", before),
    withdraw: async () => (await move("", "0")).withdrawn,
  };
}

function json(record: JournalRecord): string {
  return JSON.stringify(record);
}

/**
 * Lets everything of a session expire after `seconds` of silence. To be called at the end of each turn, and when one
 * begins or goes on: what had nearly expired must not while it is worked on.
 */
export async function touchSession(redis: Redis, thread: ThreadId, seconds: number): Promise<void> {
  const head = await redis.hget(keys.head(thread), "generation");
  const generation = readHeadNumber(redis, thread, "generation", head);
  const pipeline = redis.pipeline();
  for (const key of [
    keys.head(thread),
    keys.log(thread, generation),
    keys.notes("thread", thread),
    keys.schedules(thread),
    keys.asked(thread),
    keys.jobs(thread),
    keys.unauthorized(thread),
    keys.outbox(thread),
  ]) {
    pipeline.expire(key, seconds);
  }
  await pipeline.exec();
  // Those whose keys are gone leave the list. Twice, because work that took long has expired later than its message.
  await redis.zremrangebyscore(keys.threads, "-inf", Date.now() - 2_000 * seconds);
}
