import type { Redis } from "ioredis";
import { openClient } from "./client.ts";
import { askForKey } from "./primaries.ts";
import { createRareSentences } from "./rare-sentences.ts";
import type { RedisLog } from "./server.ts";
import { ConnectionSilent } from "./silence.ts";
import type { Target } from "./target.ts";

interface Patience {
  /** For how long to wait until the server is ready. */
  patienceMs: number;
  /** For how long where the machine is there and nothing listens. Default: no shorter than `patienceMs`. */
  refusedMs?: number;
  /** Whether a server that takes no connection may still be coming up. */
  mayBeLate: boolean;
  /** What a refusal means and what to do, for the log, where a server that was lost takes no connection any more. */
  explainCause?(cause: string): string;
  signal?: AbortSignal;
  log: RedisLog;
}

const noAnswer = "no answer in time";
/** Causes for which there is something else to do than to start a server. */
const loading = "it is still loading its data";
export const noPrimary = "its cluster has no primary that takes commands";

export function isLoading(cause: string): boolean {
  return cause === loading || cause.startsWith("LOADING");
}

/** After so long a wait deserves a word. */
const noticeMs = 1_000;

/**
 * Opens the one connection that a `RedisServer` keeps for itself, and waits until the server is ready, but not
 * after a refusal (a wrong password). Later it says in the log when the server is lost and when it is back.
 */
export async function connectWithRetry(
  target: Target,
  { patienceMs, refusedMs = patienceMs, mayBeLate, explainCause, signal, log }: Patience,
): Promise<{ ok: true; control: Redis } | { ok: false; cause: string }> {
  let cause = noAnswer;
  let isRefused = false;
  const control = openClient(target, {
    retryStrategy: (attempt) => Math.min(attempt * 20, 1_000),
  });

  const { promise: ready, resolve } = Promise.withResolvers<boolean>();
  const giveUp = () => resolve(false);
  const timer = afterListening(giveUp, patienceMs);
  const refusal = afterListening(() => isRefused && giveUp(), refusedMs);
  // Nobody should sit before a silent terminal.
  const notice = afterListening(() => {
    const longest = isRefused ? refusedMs : patienceMs;
    log.info(`Redis does not answer yet (${cause}); waiting for up to ${longest / 1_000} s.`);
  }, noticeMs);
  signal?.addEventListener("abort", giveUp);
  const refuse = (reason: Error) => {
    cause = explain(reason);
    // A server that loads its data is late, like one that does not listen yet.
    if (reason.name === "ReplyError" && !isLoading(reason.message)) giveUp();
  };
  control.once("ready", () => {
    if (!control.isCluster) return resolve(true);
    // Any node will do for that.
    cause = noPrimary;
    askForKey(control).then(() => resolve(true), refuse);
  });
  // It may still have to load its data.
  control.on("connect", () => {
    isRefused = false;
  });
  if (!mayBeLate) control.once("close", giveUp);
  control.on("error", (error: NodeJS.ErrnoException) => {
    const reason = reasonOf(error);
    isRefused = reason.code === "ECONNREFUSED";
    if (reason instanceof ConnectionSilent) {
      cause = "it takes connections and does not answer";
      return;
    }
    refuse(reason);
  });
  const answered = await ready;
  clearInterval(timer);
  clearInterval(refusal);
  clearInterval(notice);
  signal?.removeEventListener("abort", giveUp);
  if (!answered) {
    // It answers, and the client still asks whether it has loaded its data.
    if (cause === noAnswer && control.status === "connect" && control.stream.bytesRead > 0) cause = loading;
    control.disconnect();
    return { ok: false, cause };
  }

  tellOfLosses(control, log, explainCause);
  return { ok: true, control };
}

/** Says that the server is lost, why it takes no connection where it says so itself, and that it is back. */
function tellOfLosses(control: Redis, log: RedisLog, explainCause = (cause: string) => `${cause}.`): void {
  const isDue = createRareSentences();
  let lost = false;
  let isSilent = false;
  control.on("error", (error) => {
    isSilent = error instanceof ConnectionSilent;
    const reason = reasonOf(error);
    if (reason.name !== "ReplyError") return;
    const sentence = `Redis refuses the connection: ${explainCause(explain(reason))}`;
    if (isDue(sentence)) log.warn(sentence);
  });
  // Not when it closes: a cluster's client does not tell then whether it was ended from here.
  control.on("reconnecting", () => {
    // Of a silent server the others tell.
    if (lost || isSilent) return;
    lost = true;
    log.warn("The connection to Redis is lost; trying again until it is back.");
  });
  control.on("ready", () => {
    if (lost) log.info("Redis is back.");
    lost = false;
    isSilent = false;
  });
}

/** A wait is counted in so many ticks. */
const ticks = 20;

/**
 * Calls `decide` after `ms` in which an answer could be heard, and after whatever has arrived by then was read. A process
 * that starts may compute for longer than the wait, which counts for one tick then, and Node runs timers that are due
 * before it reads from the network.
 *
 * Source: nodejs.org/en/learn/asynchronous-work/event-loop-timers-and-nexttick, "Phases Overview".
 */
function afterListening(decide: () => unknown, ms: number): NodeJS.Timeout {
  let left = ticks;
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return;
    clearInterval(timer);
    setImmediate(decide);
  }, ms / ticks);
  return timer;
}

/** Several addresses that all failed come as an AggregateError with an empty message. */
function explain({ message, code, name }: NodeJS.ErrnoException): string {
  return (message || code || name)
    .replace(/^All sentinels are unreachable\..* Last error: /, "no sentinel names a primary: ")
    .replace(/^LOADING\b.*/, loading)
    .replace(/\.$/, "");
}

/** A cluster's own error only says that no node would do. */
function reasonOf(error: NodeJS.ErrnoException): NodeJS.ErrnoException {
  return "lastNodeError" in error && error.lastNodeError instanceof Error ? error.lastNodeError : error;
}
