import { cutWords } from "../../agent/text/text.ts";
import { untilAborted } from "../../agent/until-aborted.ts";
import { escapeMarkdown } from "../../chat/escape-markdown.ts";
import type { OpenedThread } from "../../chat/surface.ts";
import { parseThreadId, threadId, type ThreadId, type ThreadRef } from "../../chat/threads.ts";
import type { Checkpoints } from "../../sandbox/checkpoints.ts";
import { keys } from "../redis/keys.ts";
import { claimSession } from "../session/claim.ts";
import { readFirstMessage } from "../session/journal/journal.ts";
import { loadWithoutSnapshot } from "../session/journal/load-journal.ts";
import { rememberMessages } from "../session/mailbox/message-threads.ts";
import { serializeSnapshot } from "../session/journal/snapshot.ts";
import type { HeldSession } from "../turns/claimed-session.ts";
import type { UndoDeps } from "./contracts.ts";
import { findFiles } from "./find-files.ts";
import { findLastTurns } from "./find-turns.ts";
import { describeTurn } from "./messages.ts";
import { addSpan, type Span } from "./spans.ts";
import { readUndone, type UndoOrder } from "./stored.ts";

/** What a fork begins with. */
interface ForkPoint {
  spans: readonly Span[];
  /** The checkpoint of its files. */
  files: string;
  about: string;
}

interface NamedForkPoint extends ForkPoint {
  /** What lists of threads call the fork. */
  title: string;
}

const titleChars = 60;

/**
 * Begins a new thread in the same channel with a copy of conversation and files. Done again after a crash it ends in the
 * same thread.
 *
 * @returns what the thread is told
 */
export async function fork(
  session: HeldSession,
  deps: UndoDeps,
  order: UndoOrder,
  checkpoints: Checkpoints,
): Promise<string> {
  const { options } = session;
  const point = await findForkPoint(session, order, checkpoints);
  if (typeof point === "string") return point;
  const title = deps.mask(await makeForkTitle(session));
  const target = await openTarget(session, deps, order, { ...point, title });
  if ("why" in target) return target.why;
  const thread = threadId(target.thread);
  const [begunBy, status] = await options.redis.hmget(keys.head(thread), "forkOf", "status");
  if (begunBy !== order.id || status !== "idle") {
    // Asked again and again: its first message is there to be answered while the files are copied.
    const isFree = async () => begunBy === order.id || (await options.redis.exists(keys.head(thread))) === 0;
    const copied = await copyFiles(session, deps, checkpoints, { files: point.files, thread, isFree });
    const why = (await isFree()) ? copied : "somebody has already begun something in the new thread";
    if (why !== undefined) {
      await closeTarget(session, deps, order, { target, why });
      return `I cannot fork this: ${why}. The thread that I have begun for it is no fork.`;
    }
    await rememberMessages(options.redis, thread, [target.ref]);
    await beginSession(session, thread, order, { ...point, title });
  }
  const place = parseThreadId(thread);
  const link = deps.addressOf(place);
  // The console's threads are in no channel that people know of.
  const where = place.platform === "local" ? "" : " in this channel";
  const opened = link === undefined ? `A new thread${where}` : `[A new thread](${link})`;
  return `⑂ ${opened} goes on from ${point.about}. This one stays as it is.`;
}

/** The name of the thread that it goes on from, and which of its forks it is: nobody has written there so far. */
async function makeForkTitle({ lease: { thread, found }, options }: HeldSession): Promise<string> {
  const { title, forkTitle } = found.head;
  const first = await readFirstMessage(options.redis, thread);
  const origin = title || forkTitle || describeTurn({ asked: first ? [first] : [] });
  const number = readForks(found.head) + 1;
  return `${cutWords(origin, titleChars)} (${number === 1 ? "fork" : `fork ${number}`})`;
}

function readForks({ forks }: Record<string, string>): number {
  return Number.parseInt(forks ?? "0", 10) || 0;
}

async function findForkPoint(
  { lease, options }: HeldSession,
  order: UndoOrder,
  checkpoints: Checkpoints,
): Promise<ForkPoint | string> {
  const { thread, found } = lease;
  const { length } = found.journal;
  const undone = readUndone(options.redis, thread, found.head);
  const turns = await findLastTurns(options.redis, thread, {
    length,
    undone,
    most: Math.max(1, order.turns),
  });
  const oldest = turns.at(-1);
  if (!oldest) return "There is nothing to fork in this thread.";
  const isEarlier = order.turns > 0;
  const files = isEarlier ? await findFiles(checkpoints, thread, turns) : { name: undefined };
  if ("why" in files) return `I cannot fork this: ${files.why}.`;
  const name = files.name ?? `fork-${order.id}`;
  const kept = await checkpoints.keep(thread, name);
  if (kept.lost !== undefined) return `I cannot fork this: ${kept.lost}.`;
  const spans = isEarlier ? addSpan(undone, { from: oldest.from, to: length }) : undone;
  const about = `${isEarlier ? "before" : "after"} “${escapeMarkdown(describeTurn(oldest))}”`;
  return { spans, files: name, about };
}

async function openTarget(
  { lease, job }: HeldSession,
  deps: UndoDeps,
  order: UndoOrder,
  { about, title }: NamedForkPoint,
): Promise<OpenedThread | { why: string }> {
  const place = parseThreadId(lease.thread);
  const markdown = deps.mask(
    `⑂ **Fork** by ${escapeMarkdown(order.by.name)}: this goes on from ${linkOrigin(deps, place)}, ${about}.`,
  );
  const key = `fork:${order.id}`;
  const opening = deps.openThread(place, { markdown, key, since: order.at, title }, job);
  // A platform that does not answer holds up no worker that ends: the next one finds what was opened, by its key.
  return untilAborted(opening, job);
}

function linkOrigin({ addressOf }: UndoDeps, place: ThreadRef): string {
  const link = addressOf(place);
  return link === undefined ? "another thread" : `[another thread](${link})`;
}

/** @returns why the new thread has not all of the files */
async function copyFiles(
  { lease, job }: HeldSession,
  { onError }: UndoDeps,
  checkpoints: Checkpoints,
  { files, thread, isFree }: { files: string; thread: ThreadId; isFree(): Promise<boolean> },
): Promise<string | undefined> {
  try {
    const copied = await checkpoints.copy(lease.thread, files, thread, isFree, job);
    return copied.ok ? undefined : copied.why;
  } catch (error) {
    // Whoever gets the thread next goes on with it.
    if (job.aborted) throw error;
    onError(error);
    return "its files could not be copied, because of an error that the log of this host tells of";
  }
}

/** Says in the opened thread that it is no fork. */
async function closeTarget(
  { lease, job }: HeldSession,
  deps: UndoDeps,
  { by }: UndoOrder,
  { target, why }: { target: OpenedThread; why: string },
): Promise<void> {
  const origin = linkOrigin(deps, parseThreadId(lease.thread));
  const markdown = deps.mask(
    `⑂ **No fork** by ${escapeMarkdown(by.name)}: ${why}. I know nothing here of ${origin}, where the work goes on.`,
  );
  try {
    await untilAborted(deps.editOpening(target, markdown, job), job);
  } catch (error) {
    if (job.aborted) throw error;
    deps.onError(error);
  }
}

/** Lets the thread begin with what the conversation was at that point. */
async function beginSession(
  { lease: origin, options, job, pendingEdits }: HeldSession,
  target: ThreadId,
  order: UndoOrder,
  { spans, title }: NamedForkPoint,
): Promise<void> {
  const { redis, expireSeconds, now } = options;
  const { thread, found } = origin;
  const loaded = await loadWithoutSnapshot(redis, thread, found.journal.length, spans);
  const { messages, chosenModel } = loaded.replay.history();
  const begun = { forkOf: order.id, created: now(), forkTitle: title, forkedBy: order.by.name };
  await redis.hset(keys.head(target), begun);
  const lease = await claimSession(redis, target, { expireSeconds });
  await lease.keepSnapshot((position) =>
    serializeSnapshot({ position, messages, chosenModel, withdrawn: 0 }),
  );
  await redis.zadd(keys.threads, now(), target);
  const message = {
    kind: "notice",
    markdown:
      "I know the conversation up to there, and have a copy of its files. Write here what comes next.",
  };
  const entry = JSON.stringify({ do: "post", message, attempts: 0 });
  await lease.append([], { fields: { status: "idle" }, outbox: { [`${order.id}:fork`]: entry } });
  const flushed = await options.flushOutbox(lease, job, Promise.resolve(true));
  pendingEdits.push(flushed.rest.catch(() => undefined));
  // Last: whoever does this again after a crash gives it the same number.
  await origin.append([], { fields: { forks: String(readForks(found.head) + 1) } });
}
