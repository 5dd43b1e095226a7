import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { type ChatSurface, type OutboundMessage, parseThreadId, SurfaceError } from "../adapters/adapter.ts";
import { keys } from "./keys.ts";
import { rememberMessages } from "./mailbox.ts";
import type { SessionLease } from "./session.ts";

/** A message that must reach its thread. It is stored together with the record that it tells of. */
export interface OutboxEntry {
  message: OutboundMessage;
  /** Posts that were begun. Above 0 after a crash: the message may already be there. */
  attempts: number;
}

export function outboxEntry(message: OutboundMessage): string {
  return JSON.stringify({ message, attempts: 0 } satisfies OutboxEntry);
}

/** Attempts with an uncertain outcome after which it is left at that: better one lost copy than ten. */
const maxAttempts = 3;

export interface OutboxOptions {
  redis: Redis;
  surface: ChatSurface;
  /** Ends the waiting for a rate limit; what is left is posted by the next flush. */
  signal: AbortSignal;
  onProblem(problem: string, error: unknown): void;
}

/** Posts what the thread's outbox holds, in the order of the keys. */
export async function flushOutbox(lease: SessionLease, options: OutboxOptions): Promise<void> {
  const entries = await options.redis.hgetall(keys.outbox(lease.thread));
  for (const key of Object.keys(entries).toSorted()) {
    let entry = JSON.parse(entries[key] ?? "") as OutboxEntry;
    while (!(await postEntry(lease, key, entry, options))) {
      if (options.signal.aborted) return;
      entry = { ...entry, attempts: entry.attempts + 1 };
    }
  }
}

/** True when the entry is settled; false when it must be tried again. */
async function postEntry(
  lease: SessionLease,
  key: string,
  entry: OutboxEntry,
  options: OutboxOptions,
): Promise<boolean> {
  const { surface } = options;
  await lease.append([], { outbox: { [key]: JSON.stringify({ ...entry, attempts: entry.attempts + 1 }) } });
  const repeated = entry.attempts > 0 && !surface.idempotent;
  const message = repeated
    ? withFooter(entry.message, "This may be a repeat: the connection broke the first time.")
    : entry.message;
  try {
    const refs = await surface.post(parseThreadId(lease.thread), message, key);
    await rememberMessages(options.redis, lease.thread, refs);
  } catch (error) {
    if (!(error instanceof SurfaceError)) throw error;
    if (error.kind === "rate-limited") {
      // Nothing was posted, so the attempt does not count.
      await lease.append([], { outbox: { [key]: JSON.stringify(entry) } });
      await delay(error.retryAfterMs, undefined, { signal: options.signal }).catch(() => {});
      return options.signal.aborted ? false : postEntry(lease, key, entry, options);
    }
    if (error.kind === "uncertain" && entry.attempts + 1 < maxAttempts) return false;
    options.onProblem(`A message could not be posted to ${lease.thread} (${error.kind}).`, error);
  }
  await lease.append([], { outbox: { [key]: null } });
  return true;
}

function withFooter(message: OutboundMessage, note: string): OutboundMessage {
  return { ...message, footer: message.footer ? `${message.footer} · ${note}` : note };
}
