import type { Redis } from "ioredis";
import { z } from "zod";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { loadScript, type Script } from "../redis/script.ts";
import { listAsking } from "./questions/asking-threads.ts";
import { charsOf } from "./journal/journal.ts";
import { type Dequeued, type Hint, LeaseLost, type SessionLease } from "./lease.ts";
import { asksPeople } from "./questions/open-questions.ts";
import { stageSnapshot } from "./journal/snapshot.ts";
import { readMessage, readRecords, readStopOrder } from "./stored.ts";

const confirmScript = loadScript(new URL("scripts/confirm.lua", import.meta.url));
const takeScript = loadScript(new URL("scripts/take.lua", import.meta.url));
const appendScript = loadScript(new URL("scripts/append.lua", import.meta.url));
const snapshotScript = loadScript(new URL("scripts/snapshot.lua", import.meta.url));

const strings = z.array(z.string());
/** See the header of take.lua. */
const takeReply = z.tuple([strings, strings, z.string(), strings]);

/** What one look into the mailbox takes, and so what one request may have of it. */
const mostTaken = { messages: 100, bytes: 200_000 };

/** The right to write to a session, as its claim has given it. */
export function openLease(
  redis: Redis,
  thread: ThreadId,
  claimed: Pick<SessionLease, "claim" | "claimsWithoutProgress" | "found">,
): SessionLease {
  const { epoch } = claimed.claim;
  const head = keys.head(thread);
  const log = keys.log(thread);
  const write = openWrites(redis, thread, epoch);
  const journal = noteWritten(redis, thread, claimed.found.journal.length);
  let drain: () => readonly Hint[] = () => [];
  const hints = () => {
    const drained = drain();
    return [drained.length, ...drained.flatMap(({ channel, message }) => [channel, message])];
  };

  /** @param how.takes whether more leaves the mailbox than what a stop order has overtaken */
  const move = async (
    start: string,
    { takes, before = [] }: { takes: boolean; before?: readonly JournalRecord[] },
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
        takes ? "1" : "0",
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
    ...claimed,
    written: () => journal.written(),
    head: () => redis.hgetall(head),
    holds: async () => (await redis.hget(head, "epoch")) === String(epoch),
    confirm: async () => (await confirmScript.run(redis, [head], [epoch])) === 1,
    async append(appended, change = {}) {
      if (asksPeople(change.fields)) await listAsking(redis, thread, Date.now());
      const set = Object.entries(change.fields ?? {}).filter((entry) => entry[1] !== undefined);
      const outbox = Object.entries(change.outbox ?? {});
      const done = Object.entries(change.done ?? {});
      const begun = listBegun(appended);
      const lines = appended.map(json);
      await write(
        appendScript,
        [head, log, keys.outbox(thread), keys.asked(thread)],
        [
          ...hints(),
          ...[set.length, ...set.flat()],
          ...[outbox.length, ...outbox.flatMap(([key, value]) => [key, value ?? ""])],
          ...[done.length, ...done.flat()],
          ...[begun.length, ...begun],
          ...lines,
        ],
      );
      journal.add(lines);
    },
    take: (start, before = []) => move(start ? json(start) : "", { takes: true, before }),
    withdraw: async () => (await move("", { takes: false })).withdrawn,
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

/** The ids of the messages that a turn begins with by these records: from then on the running turn works on them alone. */
function listBegun(records: readonly JournalRecord[]): string[] {
  const start = records.findLastIndex(({ type }) => type === "turn-start");
  if (start < 0) return [];
  return records.slice(start).flatMap((record) => (record.type === "user" ? [record.message.id] : []));
}

function json(record: JournalRecord): string {
  return JSON.stringify(record);
}
