import type { OutboundMessage } from "../../chat/outbound.ts";
import { type ChatSurface, type FindOptions, SurfaceError } from "../../chat/surface.ts";
import { type MessageRef, parseThreadId, type ThreadRef } from "../../chat/threads.ts";
import { failpoint } from "../redis/failpoint.ts";
import { readContinueAction } from "../session/continue-offer.ts";
import type { Change, HeadFields, SessionLease } from "../session/lease.ts";
import { rememberMessages } from "../session/mailbox/message-threads.ts";
import { dropQuestion, postedField } from "../session/questions/open-questions.ts";
import type { OutboxEntry, OutboxOptions } from "./contracts.ts";
import type { StoredEntry } from "./stored-entries.ts";
import { wait } from "./wait.ts";

type PostEntry = Extract<OutboxEntry, { do: "post" }>;

/** A mark in the outbox. */
export interface StoredMark extends StoredEntry {
  entry: Extract<OutboxEntry, { do: "mark" }>;
}

/** What has become of a post. */
interface Delivery {
  /**
   * When it is to be tried again, ms since the epoch, where people must let the bot write there first or the platform
   * fails for long; absent: it is done.
   */
  retryAt?: number;
  /** Marks beside it that the outbox holds in place of those of the same keys. */
  replaced: readonly StoredMark[];
}

/**
 * Attempts with an uncertain outcome after which it is left at that. Where the platform can be asked what has
 * arrived, they go on for some ten minutes, and an answer is held after that; where it knows the key, for five;
 * elsewhere one lost copy is better than ten.
 */
export const maxAttempts = ({ find, idempotentMs }: ChatSurface) => (find ? 14 : idempotentMs > 0 ? 12 : 3);
/** How long an answer waits for an invitation, or for a platform that fails, and between which bounds it is tried again meanwhile, ms. */
const held = { forMs: 6 * 3_600_000, leastMs: 60_000, mostMs: 1_800_000 };
/** How long a post waits for the platform, and where the thread has one that waits already, ms: meanwhile it has a slot. */
const patience = { newMs: 600_000, heldMs: 30_000 };
const firstPauseMs = 250;
const longestPauseMs = 60_000;

/** A post on its way, and what the outbox keeps of it. */
interface PendingPost {
  readonly lease: SessionLease;
  readonly key: string;
  readonly entry: PostEntry;
  readonly options: OutboxOptions;
  begun: number | undefined;
  attempts: number;
}

type Attempt = { kind: "posted"; refs: MessageRef[] } | { kind: "failed"; error: SurfaceError };

/**
 * Posts what the entry says, once as far as the platform lets anybody know, and removes it. Of what the platform refuses
 * for good the thread is told, if it takes other messages.
 *
 * @param answered are marked as failed where the platform takes no answer
 */
export async function deliverPost(
  lease: SessionLease,
  key: string,
  entry: PostEntry,
  answered: readonly StoredMark[],
  options: OutboxOptions,
): Promise<Delivery> {
  const { begun, attempts } = entry;
  const post: PendingPost = { ...{ lease, key, entry, options, begun, attempts } };
  for (;;) {
    const attempt = await tryPost(post);
    if (attempt.kind === "posted") {
      await rememberMessages(options.redis, lease.thread, attempt.refs);
      const said = entry.heldSince === undefined || isSubstitute(key) ? {} : { unsaid: "" };
      const fields = { ...said, ...notePosted(post, attempt.refs) };
      await lease.append([], { fields, outbox: { [key]: null } });
      return { replaced: [] };
    }
    const { error } = attempt;
    post.attempts += 1;
    if (error.kind === "uncertain" && post.attempts < maxAttempts(options.surface)) {
      await waitBeforeRetry(post.attempts, options.signal);
      continue;
    }
    // Nothing was done, or later attempts find what has arrived, so that none of them makes a second one.
    const mayComeLater =
      error.kind === "rate-limited" || (error.isPassing && options.surface.find !== undefined);
    const retryAt = error.isLiftable || mayComeLater ? await hold(post, error) : undefined;
    if (retryAt !== undefined) return { retryAt, replaced: [] };
    options.onProblem(`A message could not be posted to ${lease.thread} (${error.kind}).`, error);
    const replaced = listFailed(post, answered);
    const marks = Object.fromEntries(replaced.map((mark) => [mark.key, mark.json]));
    const notice = substituteFor(entry, error);
    const noticeKey = `${key}${substituteSuffix}`;
    await lease.append([], {
      fields: noteRefused(post, error),
      outbox: { ...marks, [key]: null, ...(notice && { [noticeKey]: JSON.stringify(notice) }) },
    });
    return notice
      ? { ...(await deliverPost(lease, noticeKey, notice, [], options)), replaced }
      : { replaced };
  }
}

/**
 * Of the key of what is said in place of a refused message. A key of its own, because the platform may have taken the
 * first parts of that message under its key.
 */
const substituteSuffix = ":refused";

function isSubstitute(key: string): boolean {
  return key.endsWith(substituteSuffix);
}

/** Undefined where the thread takes no other message either, or needs none. */
function substituteFor({ message, question }: PostEntry, { kind, message: why }: SurfaceError) {
  // The thread takes messages, only not this one.
  if (question !== undefined || kind !== "rejected" || message.kind === "notice") return undefined;
  const notice: PostEntry = {
    ...{ do: "post", attempts: 0 },
    message: { kind: "notice", markdown: unpostable(why) },
  };
  return notice;
}

/**
 * Keeps a message for a channel that the bot was removed from, a thread that was locked, or a platform that fails. A thread
 * whose answer waits is shown as failed meanwhile.
 *
 * @returns when to try again, ms since the epoch; undefined where it has waited long enough, or is a question
 */
async function hold(
  { lease, key, entry, options, begun, attempts }: PendingPost,
  error: SurfaceError,
): Promise<number | undefined> {
  const { heldSince = options.now(), begun: _, ...rest } = entry;
  const retryAt = findRetryTime(heldSince, options.now());
  if (entry.question !== undefined || retryAt === undefined) return undefined;
  if (entry.heldSince === undefined)
    options.onProblem(`A message waits until ${lease.thread} takes messages of the bot again.`, error);
  // Of what was refused nothing is there. Where the platform is away, an attempt before may have arrived.
  const tried = error.isPassing && begun !== undefined ? { begun, attempts } : {};
  const kept: OutboxEntry = { ...rest, ...tried, heldSince };
  await lease.append([], { fields: noteUnsaid(entry), outbox: { [key]: JSON.stringify(kept) } });
  return retryAt;
}

/** When what is kept since then is to be tried again; undefined where it has waited long enough. ms since the epoch */
export function findRetryTime(since: number, now: number): number | undefined {
  const waited = now - since;
  return waited > held.forMs ? undefined : now + Math.min(Math.max(waited, held.leastMs), held.mostMs);
}

/** How it is posted in a thread of which a message waits already, or none does. */
export function withPatience(options: OutboxOptions, entries: readonly StoredEntry[]): OutboxOptions {
  const { patienceMs = patience.newMs } = options;
  const isWaiting = entries.some(({ entry }) => entry.do === "post" && entry.heldSince !== undefined);
  return { ...options, patienceMs: isWaiting ? Math.min(patienceMs, patience.heldMs) : patienceMs };
}

/**
 * Posts it when the channel's budget and the platform allow, if they do so in time.
 *
 * @throws whatever is no error of the platform's
 */
async function tryPost(post: PendingPost): Promise<Attempt> {
  const { surface, output, signal, patienceMs = patience.newMs } = post.options;
  const { kind } = post.entry.message;
  const urgency = kind === "receipt" || kind === "question" ? kind : "final";
  const thread = parseThreadId(post.lease.thread);
  const overdue = AbortSignal.timeout(patienceMs);
  const either = AbortSignal.any([signal, overdue]);
  let cause: unknown;
  const write = () =>
    postNow(post, thread).catch((error: unknown) => {
      cause = error;
      throw error;
    });
  try {
    return { kind: "posted", refs: await output.write(surface, thread, urgency, either, write) };
  } catch (error) {
    if (error instanceof SurfaceError) return { kind: "failed", error };
    if (signal.aborted || error !== overdue.reason) throw error;
    const why = `The platform has taken no message for ${Math.round(patienceMs / 1_000)} s.`;
    return { kind: "failed", error: new SurfaceError("rate-limited", why, { cause }) };
  }
}

/** Posts it, unless an earlier attempt has. That it is tried is stored before. */
async function postNow(post: PendingPost, thread: ThreadRef): Promise<MessageRef[]> {
  const { surface } = post.options;
  const { key, begun: known } = post;
  const { message: said } = post.entry;
  const again = withFooter(said, repeated);
  const earlier =
    known === undefined ? [] : await findPosted(surface, thread, key, known, { as: [said, again] });
  const isForgotten = known !== undefined && Date.now() - known >= surface.idempotentMs;
  const isRepeat = isForgotten && earlier.length === 0;
  post.begun = known ?? Date.now();
  await storeAttempt(post);
  try {
    const message = isRepeat ? again : said;
    return await failpoint("post", () => surface.post(thread, message, key, earlier));
  } catch (error) {
    // Nothing was posted, so the next attempt is no repeat.
    if (error instanceof SurfaceError && error.kind === "rate-limited" && !error.partly) {
      post.begun = known;
      await storeAttempt(post);
    }
    throw error;
  }
}

function storeAttempt({ lease, key, entry, begun, attempts }: PendingPost): Promise<void> {
  const { begun: _, ...rest } = entry;
  const now: OutboxEntry = { ...rest, attempts, ...(begun !== undefined && { begun }) };
  return lease.append([], { outbox: { [key]: JSON.stringify(now) } });
}

/** Where people find what they may answer, for the head. */
function notePosted({ entry }: PendingPost, refs: readonly MessageRef[]): Change["fields"] {
  const last = refs.at(-1);
  const asks = entry.question ?? entry.message.actions?.map(({ id }) => readContinueAction(id)).find(Boolean);
  return asks && last ? { [postedField(asks)]: JSON.stringify(last) } : {};
}

/** What the head says of a question, or an answer, that the platform does not take. */
function noteRefused({ entry }: PendingPost, error: SurfaceError): HeadFields {
  const { question } = entry;
  if (question !== undefined) {
    // One that may have arrived may be answered.
    return error.kind === "uncertain" ? {} : dropQuestion(question, error.message, Date.now());
  }
  return noteUnsaid(entry);
}

/** Where the platform has not taken it. A stop is shown as what it was: nobody waits for what it had to say. */
function noteUnsaid({ message }: PostEntry): HeadFields {
  return message.kind === "receipt" ? {} : { unsaid: "1" };
}

/** The marks of what an answer that the platform does not take was to answer. */
function listFailed({ entry: { question } }: PendingPost, answered: readonly StoredMark[]): StoredMark[] {
  if (question !== undefined) return [];
  return answered.map(({ key, entry }) => {
    const failed = { do: "mark", ref: entry.ref, mark: "failed" } as const;
    return { key, json: JSON.stringify(failed), entry: failed };
  });
}

/** The parts that are there already, as far as the platform tells. */
export async function findPosted(
  surface: ChatSurface,
  thread: ThreadRef,
  key: string,
  since: number,
  how: FindOptions,
): Promise<MessageRef[]> {
  try {
    return (await surface.find?.(thread, key, since, how)) ?? [];
  } catch (error) {
    // Where we may not look, the message must go out all the same.
    if (!(error instanceof SurfaceError) || error.isPassing) throw error;
    return [];
  }
}

/** Before the next attempt. @throws the signal's reason when it is aborted */
export async function waitBeforeRetry(attempts: number, signal: AbortSignal): Promise<void> {
  const ms = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.max(0, attempts - 1));
  await wait(ms, signal);
}

const unpostable = (why: string) =>
  `⚠️ I have finished, but my message could not be posted: ${why} Whoever runs Heddle finds it in the console.`;

const repeated = "This may be a repeat: the connection broke the first time.";

function withFooter(message: OutboundMessage, note: string): OutboundMessage {
  return { ...message, footer: message.footer ? `${message.footer} · ${note}` : note };
}
