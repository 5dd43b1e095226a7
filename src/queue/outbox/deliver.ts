import { setTimeout as delay } from "node:timers/promises";
import type { OutboundMessage } from "../../chat/outbound.ts";
import { type ChatSurface, SurfaceError } from "../../chat/surface.ts";
import { type MessageRef, parseThreadId, type ThreadRef } from "../../chat/threads.ts";
import { failpoint } from "../redis/failpoint.ts";
import type { Change, SessionLease } from "../session/lease.ts";
import { rememberMessages } from "../session/message-threads.ts";
import { dropQuestion, postedField } from "../session/open-questions.ts";
import { readContinueAction } from "../session/paused-turn.ts";
import type { OutboxEntry, OutboxOptions } from "./contracts.ts";

/** A mark in the outbox. */
export type MarkEntry = { key: string; entry: Extract<OutboxEntry, { do: "mark" }> };

/**
 * Attempts with an uncertain outcome after which it is left at that. Where the platform can be asked what has
 * arrived, they go on for some ten minutes; where it knows a key for some minutes, a little longer than that;
 * elsewhere one lost copy is better than ten.
 */
export const maxAttempts = ({ find, idempotentMs }: ChatSurface) => (find ? 14 : idempotentMs > 0 ? 12 : 3);
const firstPauseMs = 250;
const longestPauseMs = 60_000;

/**
 * Posts what the entry says, once as far as the platform lets anybody know, and removes it. Of what the platform refuses
 * for good the thread is told, if it takes other messages.
 *
 * @param answered are marked as failed where the platform takes no answer
 */
export async function deliverPost(
  lease: SessionLease,
  key: string,
  entry: Extract<OutboxEntry, { do: "post" }>,
  answered: readonly MarkEntry[],
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
      return await failpoint("post", () => surface.post(thread, message, key, earlier));
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
      const asks = question ?? whole.actions?.map(({ id }) => readContinueAction(id)).find(Boolean);
      if (asks && last) fields = { [postedField(asks)]: JSON.stringify(last) };
      break;
    } catch (error) {
      if (!(error instanceof SurfaceError)) throw error;
      attempts += 1;
      if (error.kind === "uncertain" && attempts < maxAttempts(surface)) {
        await waitBeforeRetry(attempts, signal);
        continue;
      }
      options.onProblem(`A message could not be posted to ${lease.thread} (${error.kind}).`, error);
      if (question) {
        // One that may have arrived may be answered.
        if (error.kind !== "uncertain") fields = dropQuestion(question, error.message, Date.now());
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

/** The parts that are there already, as far as the platform tells. */
export async function findPosted(
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

/** Before the next attempt. @throws the signal's reason when it is aborted */
export async function waitBeforeRetry(attempts: number, signal: AbortSignal): Promise<void> {
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
