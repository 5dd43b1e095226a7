import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import {
  type ChatSurface,
  type MessageMark,
  type MessageRef,
  type OutboundMessage,
  parseThreadId,
  SurfaceError,
  type ThreadId,
  type ThreadRef,
} from "../adapters/adapter.ts";
import { faultPoint } from "./fault.ts";
import { keys } from "./keys.ts";
import { rememberMessages } from "./mailbox.ts";
import { markMessage } from "./marks.ts";
import type { OutputScheduler } from "./output.ts";
import { turnToContinue } from "./paused.ts";
import { postedField, unasked } from "./questions.ts";
import type { Change, SessionLease } from "./session.ts";

/**
 * What the thread must show in the end, whatever happens to the worker. It is stored together with the record
 * that it tells of, and removed when the platform has taken it.
 */
export type OutboxEntry =
  /**
   * `begun`: ms since the epoch of the first attempt; with it the message may already be there. `question`: its id;
   * where it was posted is noted, so that it can be edited.
   */
  | { do: "post"; message: OutboundMessage; begun?: number; attempts: number; question?: string }
  /** Edits the message that the head's field refers to, if there is one. */
  | { do: "edit"; field: "progress" | `asked:${string}`; message: OutboundMessage }
  /** Brings the turn's progress message to its last state, or removes it. `since`: when the turn began, ms. */
  | { do: "settle"; message: OutboundMessage | null; since: number }
  | { do: "mark"; ref: MessageRef; mark: MessageMark };

/**
 * Attempts with an uncertain outcome after which it is left at that. Where the platform can be asked what has
 * arrived, they go on for some ten minutes; where it knows a key for some minutes, a little longer than that;
 * elsewhere one lost copy is better than ten.
 */
const maxAttempts = ({ find, idempotentMs }: ChatSurface) => (find ? 14 : idempotentMs > 0 ? 12 : 3);
const firstPauseMs = 250;
const longestPauseMs = 60_000;

export interface OutboxOptions {
  redis: Redis;
  surface: ChatSurface;
  output: OutputScheduler;
  /** Ends the waiting for a rate limit; what is left is done by the next flush. */
  signal: AbortSignal;
  /** Resolves when nobody else writes to the progress message, with whether there may be one that the head does not know. */
  progressQuiet: Promise<boolean>;
  onProblem(problem: string, error: unknown): void;
}

/**
 * Does what the thread's outbox holds: first the posts in the order of their keys, then the rest.
 *
 * @returns the marks and edits that are still being made: nothing else has to wait for them
 */
export async function flushOutbox(
  lease: SessionLease,
  options: OutboxOptions,
): Promise<{ rest: Promise<void> }> {
  const stored = await options.redis.hgetall(keys.outbox(lease.thread));
  const entries = Object.entries(stored)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    // Only outbox entries are ever stored there.
    .map(([key, json]) => ({ key, entry: JSON.parse(json) as OutboxEntry }));
  const untilAborted = (work: Promise<void>) =>
    work.catch((error: unknown) => {
      if (!options.signal.aborted || error !== options.signal.reason) throw error;
    });
  await untilAborted(
    (async () => {
      for (const { key, entry } of entries)
        if (entry.do === "post") await post(lease, key, entry, marksBeside(key, entries), options);
      const mayBeShown = await options.progressQuiet;
      for (const { key, entry } of entries)
        if (entry.do === "settle") await settle(lease, key, entry, mayBeShown, options);
    })(),
  );
  const rest = entries.map(async ({ key, entry }) => {
    if (entry.do === "mark") await mark(lease, key, entry, options);
    if (entry.do === "edit") await edit(lease, key, entry, options);
  });
  return { rest: untilAborted(Promise.all(rest).then(() => undefined)) };
}

/** Whether the thread must still be told how its turn has ended; marks and edits may come later. */
export async function isTelling(redis: Redis, thread: ThreadId): Promise<boolean> {
  // Only outbox entries are ever stored there.
  const entries = (await redis.hvals(keys.outbox(thread))).map((json) => JSON.parse(json) as OutboxEntry);
  return entries.some((entry) => entry.do === "post" || entry.do === "settle");
}

type Mark = { key: string; entry: Extract<OutboxEntry, { do: "mark" }> };

/** The marks that say of what a turn's last message answers that it was answered. */
function marksBeside(key: string, entries: readonly { key: string; entry: OutboxEntry }[]): Mark[] {
  const [turn] = key.split(":");
  return entries.flatMap(({ key: other, entry }) =>
    other.startsWith(`${turn}:`) && entry.do === "mark" && entry.mark === "answered"
      ? [{ key: other, entry }]
      : [],
  );
}

/** @param answered are marked as failed where the platform takes no answer */
async function post(
  lease: SessionLease,
  key: string,
  entry: Extract<OutboxEntry, { do: "post" }>,
  answered: readonly Mark[],
  options: OutboxOptions,
): Promise<void> {
  const { surface, output, signal } = options;
  const thread = parseThreadId(lease.thread);
  const { question } = entry;
  const { kind } = entry.message;
  let whole = entry.message;
  const urgency = kind === "receipt" || kind === "question" ? kind : "final";
  let { begun, attempts } = entry;
  let fields: Change["fields"] = {};
  const outbox: Record<string, string | null> = { [key]: null };
  const store = () => {
    const now: OutboxEntry = { ...entry, attempts };
    if (begun === undefined) delete now.begun;
    else now.begun = begun;
    return lease.append([], { outbox: { [key]: JSON.stringify(now) } });
  };
  const tryOnce = async () => {
    const known = begun;
    const earlier = known === undefined ? [] : await findPosted(surface, thread, key, known);
    const isForgotten = known !== undefined && Date.now() - known >= surface.idempotentMs;
    const isRepeat = isForgotten && earlier.length === 0;
    begun = known ?? Date.now();
    await store();
    try {
      const message = isRepeat ? withFooter(whole, repeated) : whole;
      return await faultPoint("post", () => surface.post(thread, message, key, earlier));
    } catch (error) {
      // Nothing was posted, so the next attempt is no repeat.
      if (error instanceof SurfaceError && error.kind === "rate-limited" && !error.partly) {
        begun = known;
        await store();
      }
      throw error;
    }
  };
  for (;;) {
    try {
      const refs = await output.write(surface, thread, urgency, signal, tryOnce);
      await rememberMessages(options.redis, lease.thread, refs);
      const last = refs.at(-1);
      const asks = question ?? whole.actions?.map(({ id }) => turnToContinue(id)).find(Boolean);
      if (asks && last) fields = { [postedField(asks)]: JSON.stringify(last) };
      break;
    } catch (error) {
      if (!(error instanceof SurfaceError)) throw error;
      attempts += 1;
      if (error.kind === "uncertain" && attempts < maxAttempts(surface)) {
        await pause(attempts, signal);
        continue;
      }
      options.onProblem(`A message could not be posted to ${lease.thread} (${error.kind}).`, error);
      if (question) {
        // One that may have arrived may be answered.
        if (error.kind !== "uncertain") fields = unasked(question, error.message, Date.now());
        break;
      }
      fields = { unsaid: "1" };
      for (const beside of answered) {
        beside.entry.mark = "failed";
        outbox[beside.key] = JSON.stringify(beside.entry);
      }
      // The thread takes messages, only not this one.
      if (error.kind !== "rejected" || whole.kind === "notice") break;
      whole = { kind: "notice", markdown: unpostable(error.message) };
      [begun, attempts] = [undefined, 0];
    }
  }
  await lease.append([], { fields, outbox });
}

async function edit(
  lease: SessionLease,
  key: string,
  entry: Extract<OutboxEntry, { do: "edit" }>,
  options: OutboxOptions,
): Promise<void> {
  const { surface, output, signal } = options;
  const { field, message } = entry;
  await attempt(`A message in ${lease.thread} could not be edited.`, options, async () => {
    const json = (await lease.head())[field];
    if (!json) return;
    const ref = JSON.parse(json) as MessageRef;
    await output.write(surface, ref, "question", signal, () =>
      faultPoint("settle", () => surface.edit(ref, message)),
    );
  });
  // The progress message goes on; a question, or an offer, has ended with its edit.
  const fields = field === "progress" ? {} : { [field]: "" };
  await lease.append([], { fields, done: { [key]: JSON.stringify(entry) } });
}

/** The parts that are there already, as far as the platform tells. */
async function findPosted(
  surface: ChatSurface,
  thread: ThreadRef,
  key: string,
  since: number,
): Promise<MessageRef[]> {
  try {
    return (await surface.find?.(thread, key, since)) ?? [];
  } catch (error) {
    // Where we may not look, the message must go out all the same.
    const isFinal =
      error instanceof SurfaceError && error.kind !== "rate-limited" && error.kind !== "uncertain";
    if (!isFinal) throw error;
    return [];
  }
}

/** Nobody is frozen for longer and then goes on. */
const settledSeconds = 3_600;

async function settle(
  lease: SessionLease,
  key: string,
  { message, since }: Extract<OutboxEntry, { do: "settle" }>,
  mayBeShown: boolean,
  options: OutboxOptions,
): Promise<void> {
  const { surface, output, signal } = options;
  const thread = parseThreadId(lease.thread);
  // Before the edit: whoever writes later finds it.
  await options.redis.set(keys.settled(lease.thread, key), JSON.stringify(message), "EX", settledSeconds);
  await attempt(`The progress message of ${lease.thread} could not be finished.`, options, async () => {
    const { progress } = await lease.head();
    const known = progress ? (JSON.parse(progress) as MessageRef) : undefined;
    // Posted by a worker that died before it could note so.
    const ref = known ?? (mayBeShown ? (await findPosted(surface, thread, key, since))[0] : undefined);
    if (!ref) return;
    await output.write(surface, thread, "progress", signal, () =>
      faultPoint("settle", () => (message ? surface.edit(ref, message) : surface.remove(ref))),
    );
  });
  await lease.append([], { fields: { progress: "" }, outbox: { [key]: null } });
}

/**
 * The last state of a turn's progress message (null: removed), for a worker that has lost the session and wrote
 * to it at that moment; undefined while the worker has it, or while the message is not settled.
 */
export async function settledSince(
  redis: Redis,
  lease: SessionLease,
  turn: string,
): Promise<OutboundMessage | null | undefined> {
  if (await lease.holds()) return undefined;
  const last = await redis.get(keys.settled(lease.thread, turn));
  // Written by `settle` alone.
  return last === null ? undefined : (JSON.parse(last) as OutboundMessage | null);
}

async function mark(
  lease: SessionLease,
  key: string,
  entry: Extract<OutboxEntry, { do: "mark" }>,
  options: OutboxOptions,
): Promise<void> {
  await attempt(`A message in ${lease.thread} could not be marked as ${entry.mark}.`, options, () =>
    markMessage(options, entry.ref, entry.mark, options.signal),
  );
  await lease.append([], { done: { [key]: JSON.stringify(entry) } });
}

/** Does what may be left undone if the platform refuses it. Doing it twice is the same as once. */
async function attempt(problem: string, options: OutboxOptions, work: () => Promise<void>): Promise<void> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof SurfaceError)) throw error;
      if (error.kind === "uncertain" && attempts < maxAttempts(options.surface)) {
        await pause(attempts, options.signal);
        continue;
      }
      return options.onProblem(problem, error);
    }
  }
}

async function pause(attempts: number, signal: AbortSignal): Promise<void> {
  const ms = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.max(0, attempts - 1));
  await delay(ms, undefined, { signal }).catch(() => {
    throw signal.reason;
  });
}

const unpostable = (why: string) =>
  `⚠️ I have finished, but my message could not be posted: ${why} Whoever runs Heddle finds it in the console.`;

const repeated = "This may be a repeat: the connection broke the first time.";

function withFooter(message: OutboundMessage, note: string): OutboundMessage {
  return { ...message, footer: message.footer ? `${message.footer} · ${note}` : note };
}
