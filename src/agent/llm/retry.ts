import { setTimeout as sleep } from "node:timers/promises";
import { type LanguageModel, ModelError, type ModelEvent, type ModelRequest } from "../model.ts";
import { AttemptFailed } from "./attempt-failed.ts";
import { createImageStripping, type ImageStrippingOptions } from "./strip-rejected-images.ts";
import { createToolStripping } from "./strip-rejected-tools.ts";

/** How often and for how long a model call is retried. All times in milliseconds. */
export interface RetryPolicy {
  /** Further attempts after the first one; 0 switches retries off. */
  maxRetries: number;
  /** Upper bound of the first wait; it doubles with every attempt. The real wait is random below it. */
  baseMs: number;
  /** Upper bound of any wait that we choose ourselves. A longer Retry-After from the service is honoured. */
  capMs: number;
  /**
   * The latest start of an attempt, counted from the start of the first; a wait that would end later is skipped.
   * It never cuts off an attempt that is streaming.
   */
  deadlineMs: number;
  /**
   * An attempt that yields no event for this long is abandoned and counts as failed, and one that yields nothing but pings
   * for ten times as long.
   */
  idleMs: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  maxRetries: 3,
  baseMs: 1_000,
  capMs: 60_000,
  deadlineMs: 600_000,
  idleMs: 90_000,
};

/**
 * One request to a model service. Obligations:
 *
 * - it ends soon after `signal` is aborted, by throwing whatever it likes or by returning;
 * - it yields `done` exactly once, last; returning without it counts as a cut stream;
 * - it throws {@link AttemptFailed} for whatever the service did. Any other error is a fault of the
 *   program and is not retried;
 * - it yields {@link heartbeat} for whatever the service sends of its answer that has nothing to show, as tool arguments,
 *   and {@link ping} for what only proves life: that keeps the watchdog quiet and goes no further.
 */
export type Attempt = (signal: AbortSignal) => AsyncIterable<ModelEvent>;

/** A sign that the service is working. Any empty delta counts as one. */
export const heartbeat: ModelEvent = { type: "text", delta: "" };

/** A sign that the service is there, whatever it does; this object alone. */
export const ping: ModelEvent = { ...heartbeat };

/** So many times as long as silence a service may send nothing but pings: requests wait for their turn so. */
const pingsFactor = 10;

/** What is known of a service besides its failures, for requests that it would refuse. */
export interface ServiceRules extends ImageStrippingOptions {
  /** Whether the model has learned to leave out what the service refused, so that an immediate retry is worthwhile. */
  recoverable?(failure: AttemptFailed, request: ModelRequest): boolean;
}

/** A model whose calls are retried, with exponential back-off and jitter, while the failure is transient. */
export function createRetryingModel(
  facts: Pick<LanguageModel, "id" | "limits">,
  attempt: (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelEvent>,
  policy: RetryPolicy,
  { recoverable = () => false, ...rules }: ServiceRules = {},
): LanguageModel {
  const images = createImageStripping(rules);
  const tools = createToolStripping(facts.limits.tools);
  return {
    ...facts,
    stream: (request, signal) =>
      withRetries((current) => attempt(tools.accepted(images.accepted(request)), current), policy, signal, {
        recoverable(failure) {
          if (recoverable(failure, request) || images.refuse(failure, request)) return true;
          return tools.refuse(failure, request) ?? false;
        },
      }),
  };
}

interface RetryOptions {
  /** See {@link createRetryingModel}; a string is told, as the reason for another attempt. */
  recoverable?: (failure: AttemptFailed) => boolean | string;
  /** What a test holds still: a random number in [0, 1), and the wait between attempts. */
  random?: () => number;
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Runs `attempt` until it is done, retrying transient failures with exponential back-off and full jitter.
 *
 * Yields what the attempts yield, and a `retry` event before each wait: whatever was streamed before it is
 * void, and its `attempt` is the number of the attempt that follows (2 for the first retry).
 *
 * Throws `signal.reason` when `signal` is aborted, whatever else happened; else {@link ModelError} for a
 * failure that is not transient or persists after the last attempt.
 */
export async function* withRetries(
  attempt: Attempt,
  policy: RetryPolicy,
  signal: AbortSignal,
  options: RetryOptions = {},
): AsyncGenerator<ModelEvent, void, undefined> {
  const { random = Math.random, wait = (ms, aborted) => sleep(ms, undefined, { signal: aborted }) } = options;
  const deadline = performance.now() + policy.deadlineMs;
  for (let made = 1; ; made += 1) {
    signal.throwIfAborted();
    const failure = yield* tryOnce(attempt, policy.idleMs, signal);
    if (failure === undefined) return;
    const forgiven = options.recoverable?.(failure);
    if (typeof forgiven === "string")
      yield { type: "retry", attempt: made + 1, delayMs: 0, reason: forgiven };
    if (forgiven) continue;
    if (failure.kind !== "transient")
      throw new ModelError(failure.kind, failure.message, createDetails(failure, made));

    const delayMs = delayAfter(made, failure, policy, random);
    if (made > policy.maxRetries || performance.now() + delayMs > deadline) {
      throw giveUp(failure, made);
    }
    yield { type: "retry", attempt: made + 1, delayMs, reason: failure.message };
    try {
      await wait(delayMs, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }
}

/** Passes one attempt's events on. Returns why it failed, or nothing when it is done. */
async function* tryOnce(
  attempt: Attempt,
  idleMs: number,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, AttemptFailed | undefined, undefined> {
  const current = new AbortController();
  const onAbort = () => current.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  let stall: AttemptFailed | undefined;
  // Not while the consumer holds an event: only the service's silence counts.
  let isWaiting = true;
  const watch = (ms: number, what: string) =>
    setTimeout(() => {
      if (!isWaiting) return;
      stall ??= new AttemptFailed("transient", `The model service sent ${what} for ${ms / 1000} s`);
      current.abort();
    }, ms);
  const silence = watch(idleMs, "nothing");
  const pings = watch(idleMs * pingsFactor, "nothing of its answer");
  try {
    for await (const event of attempt(current.signal)) {
      signal.throwIfAborted();
      isWaiting = false;
      if (!isHeartbeat(event)) yield event;
      if (event.type === "done") return undefined;
      isWaiting = true;
      silence.refresh();
      if (event !== ping) pings.refresh();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (stall) return stall;
    if (error instanceof AttemptFailed) return error;
    throw error;
  } finally {
    clearTimeout(silence);
    clearTimeout(pings);
    signal.removeEventListener("abort", onAbort);
  }
  signal.throwIfAborted();
  if (stall) return stall;
  return new AttemptFailed("transient", "The model service broke off its answer");
}

function isHeartbeat(event: ModelEvent): boolean {
  return (event.type === "text" || event.type === "thinking") && event.delta === "";
}

/** Milliseconds to wait after attempt number `made`: random below a doubling bound, or as long as the service asked. */
function delayAfter(made: number, failure: AttemptFailed, policy: RetryPolicy, random: () => number): number {
  const bound = Math.min(policy.capMs, policy.baseMs * 2 ** (made - 1));
  return Math.max(Math.round(random() * bound), failure.retryAfterMs ?? 0);
}

/** The end of the attempts at what may pass, with the time after which it is worth another. */
function giveUp(failure: AttemptFailed, attempts: number): ModelError {
  const said = `${failure.message} after ${attempts === 1 ? "1 attempt" : `${attempts} attempts`}`;
  const message = `${said}; try again in ${describeWait(failure.retryAfterMs ?? 0)}.`;
  return new ModelError(failure.kind, message, { ...createDetails(failure, attempts), reason: `${said}.` });
}

function createDetails({ detail, retryAfterMs }: AttemptFailed, attempts: number) {
  return { attempts, detail, retryAfterMs };
}

const minuteMs = 60_000;

/** In words for people, never shorter than what the service asked for. */
function describeWait(ms: number): string {
  const minutes = Math.ceil(ms / minuteMs);
  if (minutes <= 5) return "a few minutes";
  return minutes <= 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`;
}
