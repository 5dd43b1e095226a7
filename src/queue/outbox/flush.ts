import type { Redis } from "ioredis";
import type { CallList, OutboundMessage } from "../../chat/outbound.ts";
import { SurfaceError } from "../../chat/surface.ts";
import { type MessageRef, parseThreadId, type ThreadId } from "../../chat/threads.ts";
import { failpoint } from "../redis/failpoint.ts";
import { keys } from "../redis/keys.ts";
import type { SessionLease } from "../session/lease.ts";
import { readMessageRef } from "../session/stored.ts";
import { answerInPlace } from "./answer-in-place.ts";
import { type OutboxEntry, type OutboxOptions, settledSeconds } from "./contracts.ts";
import {
  deliverPost,
  findPosted,
  findRetryTime,
  maxAttempts,
  type StoredMark,
  waitBeforeRetry,
  withPatience,
} from "./deliver.ts";
import { markMessage } from "./message-marks.ts";
import { readEntries, readSettled, type StoredEntry } from "./stored-entries.ts";

/**
 * Does what the thread's outbox holds: first the posts in the order of their keys, then the rest.
 *
 * @returns the marks and edits that are still being made: nothing else has to wait for them; and when to look again, ms
 * since the epoch, where people must let the bot write there before it can do the rest, or the platform fails for long
 */
export async function flushOutbox(
  lease: SessionLease,
  options: OutboxOptions,
): Promise<{ rest: Promise<void>; retryAt?: number }> {
  const stored = await options.redis.hgetall(keys.outbox(lease.thread));
  let entries = readEntries(options.redis, lease.thread, stored).toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const untilAborted = (work: Promise<void>) =>
    work.catch((error: unknown) => {
      if (!options.signal.aborted || error !== options.signal.reason) throw error;
    });
  /** When to try those again whose turn's message waits for an invitation, or for the platform, by turn. */
  const held = new Map<string, number>();
  /** When to try those progress messages again whose last edit the platform has not taken. */
  const later: number[] = [];
  /** Keys of progress messages that have become the answer. */
  const inPlace = new Set<string>();
  const patient = withPatience(options, entries);
  const isHeld = (key: string) => held.has(turnOf(key));
  await untilAborted(
    (async () => {
      for (const { key, entry } of entries) {
        // What a turn says behind its answer waits with it.
        if (entry.do !== "post" || isHeld(key)) continue;
        if (await postInPlace(lease, key, entry, entries, options)) {
          inPlace.add(`${turnOf(key)}:progress`);
          continue;
        }
        const answered = marksBeside(key, entries);
        const { retryAt, replaced } = await deliverPost(lease, key, entry, answered, patient);
        entries = entries.map((found) => replaced.find(({ key: other }) => other === found.key) ?? found);
        if (retryAt !== undefined) held.set(turnOf(key), retryAt);
      }
      const mayBeShown = await options.progressQuiet;
      for (const { key, entry } of entries) {
        if (entry.do !== "settle" || inPlace.has(key)) continue;
        if (isHeld(key)) {
          await leaveForLater(lease, key, entry, options);
          continue;
        }
        const retryAt = await settle(lease, key, entry, mayBeShown, options);
        if (retryAt !== undefined) later.push(retryAt);
      }
    })(),
  );
  const rest = entries.map(async ({ key, json, entry }) => {
    if (isHeld(key)) return;
    if (entry.do === "mark") await mark(lease, { key, json }, entry, options);
    if (entry.do === "edit") await edit(lease, { key, json }, entry, options);
  });
  const times = [...held.values(), ...later];
  return {
    rest: untilAborted(Promise.all(rest).then(() => undefined)),
    ...(times.length > 0 && { retryAt: Math.min(...times) }),
  };
}

/** Whether the turn's progress message has become the post. */
async function postInPlace(
  lease: SessionLease,
  key: string,
  { inPlace, begun, heldSince, message }: Extract<OutboxEntry, { do: "post" }>,
  entries: readonly StoredEntry[],
  options: OutboxOptions,
): Promise<boolean> {
  // Of one that was held the thread has gone on: its progress message is that of a later turn.
  if (!inPlace || begun !== undefined || heldSince !== undefined) return false;
  const progress = `${turnOf(key)}:progress`;
  const settled = entries.find((other) => other.key === progress)?.entry;
  const calls = settled?.do === "settle" ? settled.message?.calls : undefined;
  return answerInPlace(lease, key, withCalls(message, calls), progress, options);
}

/** The answer below what was done for it, where both are in one message. */
function withCalls(message: OutboundMessage, calls: CallList | undefined): OutboundMessage {
  return calls ? { ...message, calls: { ...calls, above: "", below: "" } } : message;
}

function turnOf(key: string): string {
  return key.split(":")[0] ?? key;
}

/** Whether the thread must still be told how its turn has ended; marks and edits may come later. */
export async function hasUnsentEnding(redis: Redis, thread: ThreadId): Promise<boolean> {
  const entries = readEntries(redis, thread, await redis.hgetall(keys.outbox(thread)));
  return entries.some(({ entry }) => entry.do === "post" || entry.do === "settle");
}

/** The marks that say of what a turn's last message answers that it was answered. */
function marksBeside(key: string, entries: readonly StoredEntry[]): StoredMark[] {
  const turn = turnOf(key);
  return entries.flatMap(({ key: other, json, entry }) =>
    other.startsWith(`${turn}:`) && entry.do === "mark" && entry.mark === "answered"
      ? [{ key: other, json, entry }]
      : [],
  );
}

/** An entry as it was found. */
type Found = Pick<StoredEntry, "key" | "json">;

async function edit(
  lease: SessionLease,
  { key, json }: Found,
  entry: Extract<OutboxEntry, { do: "edit" }>,
  options: OutboxOptions,
): Promise<void> {
  const { surface, output, signal } = options;
  const { field, message } = entry;
  await attempt(`A message in ${lease.thread} could not be edited.`, options, async () => {
    const ref = readMessageRef(options.redis, lease.thread, field, (await lease.head())[field]);
    if (!ref) return;
    const readLast = async () =>
      field === "progress"
        ? readSettledMessage(options.redis, lease.thread, `${turnOf(key)}:progress`)
        : undefined;
    const write = async () => {
      // While this waited its turn may have gone on and ended: how it ended does not wait behind this.
      if ((await readLast()) !== undefined) return;
      await failpoint("settle", () => surface.edit(ref, message)).catch(async (error: unknown) => {
        // It may be gone by then.
        if ((await readLast()) === undefined) throw error;
      });
      const last = await readLast();
      if (last) await surface.edit(ref, last);
      else if (last === null) await surface.remove(ref);
    };
    await output.write(surface, ref, "question", signal, write, "edits");
  });
  // The progress message goes on; a question, or an offer, has ended with its edit.
  const fields = field === "progress" ? {} : { [field]: "" };
  await lease.append([], { fields, done: { [key]: json } });
}

type SettleEntry = Extract<OutboxEntry, { do: "settle" }>;

/** How long a progress message's last edit waits for the platform, and one that was set aside, ms: meanwhile it has a slot. */
const settlePatience = { newMs: 30_000, asideMs: 2_000 };

/** @returns when to try again, ms since the epoch, where the platform has not taken it in time */
async function settle(
  lease: SessionLease,
  key: string,
  entry: SettleEntry,
  mayBeShown: boolean,
  options: OutboxOptions,
): Promise<number | undefined> {
  const { surface, output, patienceMs = settlePatience.newMs } = options;
  const { message, since, aside } = entry;
  const thread = parseThreadId(lease.thread);
  // Before the edit: whoever writes later finds it.
  await options.redis.set(keys.settled(lease.thread, key), JSON.stringify(message), "EX", settledSeconds);
  const known = aside ? aside.ref : await readProgress(lease, options);
  const overdue = AbortSignal.timeout(Math.min(patienceMs, settlePatience[aside ? "asideMs" : "newMs"]));
  const signal = AbortSignal.any([options.signal, overdue]);
  const finish = async () => {
    if (!known && !mayBeShown && !aside) return;
    let ref = known;
    const write = async () => {
      // Posted by a worker that died before it could note so. Looking may have to wait as writing may.
      ref ??= (await findPosted(surface, thread, key, since, { grows: true }))[0];
      const found = ref;
      if (!found) return;
      await failpoint("settle", () => (message ? surface.edit(found, message) : surface.remove(found)));
    };
    // It tells how the turn has ended, so it does not wait behind those that go on.
    await output.write(surface, known ?? thread, "receipt", signal, write, message ? "edits" : "messages");
  };
  try {
    await attempt(`${nameProgress(lease)} could not be finished.`, { ...options, signal }, finish);
  } catch (error) {
    if (options.signal.aborted || error !== overdue.reason) throw error;
    return await leaveForLater(lease, key, entry, options);
  }
  await lease.append([], { fields: aside ? {} : { progress: "" }, outbox: { [key]: null } });
  return undefined;
}

/**
 * Leaves a progress message's last edit to a later flush, and the head to the next turn, which has such a message of its own.
 *
 * @returns when to try again, ms since the epoch; undefined where it has waited long enough
 */
async function leaveForLater(
  lease: SessionLease,
  key: string,
  entry: SettleEntry,
  options: OutboxOptions,
): Promise<number | undefined> {
  const { since = options.now() } = entry.aside ?? {};
  const retryAt = findRetryTime(since, options.now());
  if (retryAt === undefined) {
    options.onProblem(`${nameProgress(lease)} was not finished.`, undefined);
    await lease.append([], { outbox: { [key]: null } });
  } else if (!entry.aside) {
    const ref = await readProgress(lease, options);
    const kept: SettleEntry = { ...entry, aside: { since, ...(ref && { ref }) } };
    await lease.append([], { fields: { progress: "" }, outbox: { [key]: JSON.stringify(kept) } });
  }
  return retryAt;
}

async function readProgress(lease: SessionLease, { redis }: OutboxOptions): Promise<MessageRef | undefined> {
  const { progress } = await lease.head();
  return readMessageRef(redis, lease.thread, "progress", progress);
}

function nameProgress({ thread }: SessionLease): string {
  return `The progress message of ${thread}`;
}

/**
 * The last state of a turn's progress message (null: removed), for a worker that has lost the session and wrote
 * to it at that moment; undefined while the worker has it, or while the message is not settled.
 */
export async function readSettledSince(
  redis: Redis,
  lease: SessionLease,
  turn: string,
): Promise<OutboundMessage | null | undefined> {
  if (await lease.holds()) return undefined;
  return readSettledMessage(redis, lease.thread, turn);
}

/** @param key of the progress message; undefined while it is not settled */
async function readSettledMessage(
  redis: Redis,
  thread: ThreadId,
  key: string,
): Promise<OutboundMessage | null | undefined> {
  const last = await redis.get(keys.settled(thread, key));
  return last === null ? undefined : readSettled(redis, thread, last);
}

async function mark(
  lease: SessionLease,
  { key, json }: Found,
  entry: Extract<OutboxEntry, { do: "mark" }>,
  options: OutboxOptions,
): Promise<void> {
  await attempt(`A message in ${lease.thread} could not be marked as ${entry.mark}.`, options, () =>
    markMessage(options, entry.ref, entry.mark, options.signal, { paused: entry.paused }),
  );
  await lease.append([], { done: { [key]: json } });
}

/** Does what may be left undone if the platform refuses it. Doing it twice is the same as once. */
async function attempt(problem: string, options: OutboxOptions, work: () => Promise<void>): Promise<void> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SurfaceError)) throw error;
      if (error.kind === "uncertain" && attempts < maxAttempts(options.surface)) {
        await waitBeforeRetry(attempts, options.signal);
        continue;
      }
      return options.onProblem(problem, error);
    }
  }
}
