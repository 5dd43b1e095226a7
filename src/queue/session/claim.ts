import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { JournalRecord } from "../../agent/journal.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { loadScript, type Script } from "../redis/script.ts";
import { listAsking } from "./asking-threads.ts";
import { charsOf } from "./journal.ts";
import { expiringKeys } from "./expiry.ts";
import { type Dequeued, type Hint, LeaseLost, type SessionLease } from "./lease.ts";
import { asksPeople } from "./open-questions.ts";
import { type FoundJournal, stageSnapshot } from "./snapshot.ts";
import { readHeadNumber, readMessage, readRecords, readStopOrder } from "./stored.ts";

const claimScript = loadScript(new URL("scripts/claim.lua", import.meta.url));
const confirmScript = loadScript(new URL("scripts/confirm.lua", import.meta.url));
const takeScript = loadScript(new URL("scripts/take.lua", import.meta.url));
const appendScript = loadScript(new URL("scripts/append.lua", import.meta.url));
const snapshotScript = loadScript(new URL("scripts/snapshot.lua", import.meta.url));

/** What these scripts reply; see their headers. */
const strings = z.array(z.string());
const claimReply = z.tuple([
  z.int(),
  z.int(),
  strings,
  strings,
  z.string(),
  z.int(),
  z.string(),
  strings,
  z.literal([0, 1]),
  strings,
]);
const takeReply = z.tuple([strings, strings, z.string(), strings]);

/** A journal of more records is read apart: a script holds up everybody else for as long as it runs. */
const mostClaimedRecords = 1_000;
/** What one look into the mailbox takes, and so what one request may have of it. */
const mostTaken = { messages: 100, bytes: 200_000 };

/**
 * Claims a session: every later write of the earlier holder is refused.
 *
 * @param options.holder JSON of who claims it, for whoever takes it over; see turns/lost-holders.ts
 * @param options.expireSeconds see `touchSession`; without it the session expires as it did before
 *
 * @example
 * const lease = await claimSession(redis, "slack:T1:C1:1712.5");
 * const { taken } = await lease.take({ type: "turn-start", turn: "1", at: Date.now() });
 * await lease.append([record], { fields: { status: "idle" } }); // throws LeaseLost once somebody else has claimed it
 */
export async function claimSession(
  redis: Redis,
  thread: ThreadId,
  { expireSeconds, holder = "" }: { expireSeconds?: number; holder?: string } = {},
): Promise<SessionLease> {
  return openLease(redis, thread, claimReply.parse(await runClaim(redis, thread, { expireSeconds, holder })));
}

/**
 * Claims a session as `claimSession` does, unless another holder is in the middle of a turn there and has confirmed so
 * within `graceMs`: that its job was given to somebody else does not mean that it is dead.
 */
export async function tryClaimSession(
  redis: Redis,
  thread: ThreadId,
  options: { expireSeconds: number; holder: string; graceMs: number },
): Promise<SessionLease | undefined> {
  const reply = await runClaim(redis, thread, options);
  return reply === -1 ? undefined : openLease(redis, thread, claimReply.parse(reply));
}

/**
 * Claims a session as `claimSession` does, for somebody who runs nothing of it: unless a worker is at a turn there or died
 * in one, or something is left to be shown. A turn that was parked or handed over stays so.
 */
export async function claimUnheldSession(
  redis: Redis,
  thread: ThreadId,
  { expireSeconds }: { expireSeconds: number },
): Promise<SessionLease | undefined> {
  const reply = await runClaim(redis, thread, { expireSeconds, holder: "", onlyUnheld: true });
  return reply === -1 ? undefined : openLease(redis, thread, claimReply.parse(reply));
}

/** See the header of claim.lua. */
function runClaim(
  redis: Redis,
  thread: ThreadId,
  claim: { expireSeconds: number | undefined; holder: string; onlyUnheld?: boolean; graceMs?: number },
): Promise<unknown> {
  const { expireSeconds = "", holder, onlyUnheld = false, graceMs = "" } = claim;
  return claimScript.run(
    redis,
    [
      ...[keys.head, keys.log, keys.outbox, keys.stop, keys.snapshot].map((key) => key(thread)),
      ...expiringKeys(thread),
    ],
    [randomUUID(), expireSeconds, mostClaimedRecords, holder, onlyUnheld ? "1" : "0", graceMs],
  );
}

function openLease(redis: Redis, thread: ThreadId, claimed: z.infer<typeof claimReply>): SessionLease {
  const head = keys.head(thread);
  const [epoch, stuck, fields, entries, order, length] = claimed;
  const log = keys.log(thread);
  const write = openWrites(redis, thread, epoch);
  const journal = noteWritten(redis, thread, length);
  let drain: () => readonly Hint[] = () => [];
  const hints = () => {
    const drained = drain();
    return [drained.length, ...drained.flatMap(({ channel, message }) => [channel, message])];
  };

  const move = async (
    start: string,
    takeAll: "0" | "1",
    before: readonly JournalRecord[] = [],
  ): Promise<Dequeued> => {
    const mailbox = [
      head,
      log,
      ...[keys.mail, keys.stop, keys.asked, keys.unauthorized].map((key) => key(thread)),
    ];
    const first = before.map(json);
    // See the header of take.lua.
    const [taken, withdrawn, stop, logged] = takeReply.parse(
      await write(takeScript, mailbox, [
        ...hints(),
        start,
        takeAll,
        mostTaken.messages,
        mostTaken.bytes,
        ...first,
      ]),
    );
    journal.add([...first, ...logged]);
    return {
      taken: taken.flatMap((entry) => readMessage(redis, thread, entry) ?? []),
      withdrawn: withdrawn.flatMap((entry) => readMessage(redis, thread, entry) ?? []),
      stop: stop ? readStopOrder(redis, thread, stop) : undefined,
    };
  };

  return {
    thread,
    claim: { created: readHeadNumber(redis, thread, "created", toRecord(fields)["created"]), epoch },
    claimsWithoutProgress: stuck,
    found: {
      ...{ head: toRecord(fields), outbox: toRecord(entries) },
      stop: order ? readStopOrder(redis, thread, order) : undefined,
      journal: toFoundJournal(claimed),
    },
    written: () => journal.written(),
    head: () => redis.hgetall(head),
    holds: async () => (await redis.hget(head, "epoch")) === String(epoch),
    confirm: async () => (await confirmScript.run(redis, [head], [epoch])) === 1,
    async append(appended, change = {}) {
      if (asksPeople(change.fields)) await listAsking(redis, thread, Date.now());
      const set = Object.entries(change.fields ?? {}).filter((entry) => entry[1] !== undefined);
      const outbox = Object.entries(change.outbox ?? {});
      const done = Object.entries(change.done ?? {});
      const lines = appended.map(json);
      await write(
        appendScript,
        [head, log, keys.outbox(thread)],
        [
          ...hints(),
          ...[set.length, ...set.flat()],
          ...[outbox.length, ...outbox.flatMap(([key, value]) => [key, value ?? ""])],
          ...[done.length, ...done.flat()],
          ...lines,
        ],
      );
      journal.add(lines);
    },
    take: (start, before) => move(start ? json(start) : "", "1", before),
    withdraw: async () => (await move("", "0")).withdrawn,
    async keepSnapshot(pieces, alongside = {}) {
      const position = journal.length();
      const staged = await stageSnapshot(redis, keys.stagedSnapshot(thread, epoch), pieces(position));
      const scriptKeys = [head, log, staged, keys.snapshot(thread)];
      const set = Object.entries(alongside).filter((entry) => entry[1] !== undefined);
      return (await write(snapshotScript, scriptKeys, [position, ...set.flat()])) === 1
        ? position
        : undefined;
    },
    carryHints(source) {
      drain = source;
    },
  };
}

function toFoundJournal(claimed: z.infer<typeof claimReply>): FoundJournal {
  const [, , , , , length, description, messages, isRead, records] = claimed;
  return {
    length,
    ...(description && { snapshot: { description, messages } }),
    ...(isRead && { records }),
  };
}

type Write = (script: Script, scriptKeys: string[], args: (string | number)[]) => Promise<unknown>;

/**
 * Numbers the writes of a claim, so that one which the client repeats after a lost connection is applied once. Always
 * one at a time: Redis remembers only the last.
 */
function openWrites(redis: Redis, thread: ThreadId, epoch: number): Write {
  let writes = 0;
  let writing: Promise<unknown> = Promise.resolve();
  return (script, scriptKeys, args) => {
    const number = `${epoch}.${++writes}`;
    const result = writing.then(() => script.run(redis, scriptKeys, [epoch, number, ...args]));
    writing = result.catch(() => undefined);
    return result.then((value) => {
      if (value === -1) throw new LeaseLost(thread);
      return value;
    });
  };
}

/** Notes what a claim adds to a journal of that length. Whoever has the session alone adds to it. */
function noteWritten(redis: Redis, thread: ThreadId, length: number) {
  let unread: string[] = [];
  return {
    length: () => length + unread.length,
    add(lines: readonly string[]): void {
      unread.push(...lines);
    },
    written(): { records: JournalRecord[]; chars: number } {
      const lines = unread;
      const records = readRecords(redis, thread, length, lines);
      length += lines.length;
      unread = [];
      return { records, chars: charsOf(lines) };
    },
  };
}

/** Of names and values in turn, as scripts return a hash. */
function toRecord(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.flatMap((name, index) => (index % 2 === 0 ? [[name, pairs[index + 1] ?? ""]] : [])),
  );
}

function json(record: JournalRecord): string {
  return JSON.stringify(record);
}
