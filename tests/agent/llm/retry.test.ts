import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AttemptFailed } from "../../../src/agent/llm/attempt-failed.ts";
import {
  type Attempt,
  defaultRetryPolicy,
  heartbeat,
  ping,
  type RetryPolicy,
  withRetries,
} from "../../../src/agent/llm/retry.ts";
import { ModelError, type ModelEvent, noUsage } from "../../../src/agent/model.ts";

const done: ModelEvent = {
  type: "done",
  message: {
    role: "assistant",
    id: "m1",
    parts: [{ type: "text", text: "hi" }],
    model: "test/model",
    stop: "end",
  },
  usage: noUsage,
};

const busy = () =>
  new AttemptFailed("transient", "The model service is busy (HTTP 529)", { detail: "overloaded" });
const never = new AbortController().signal;

/** Attempts that play one script each; a script is events and, last, perhaps an error. */
function scripted(...scripts: (ModelEvent | Error)[][]): Attempt & { made: number } {
  async function* attempt(): AsyncGenerator<ModelEvent> {
    const script = scripts[state.made] ?? [];
    state.made += 1;
    for (const item of script) {
      if (item instanceof Error) throw item;
      yield item;
    }
  }
  const state = Object.assign(attempt, { made: 0 });
  return state;
}

/** Waits nothing and writes down what it was asked to wait. */
function recordedWaits(random = 1) {
  const waits: number[] = [];
  const wait = (ms: number): Promise<void> => {
    waits.push(ms);
    return Promise.resolve();
  };
  return { waits, deps: { wait, random: () => random } };
}

async function run(
  attempt: Attempt,
  policy: Partial<RetryPolicy> = {},
  signal = never,
  deps = recordedWaits().deps,
) {
  const events: ModelEvent[] = [];
  let error: unknown;
  try {
    for await (const event of withRetries(attempt, { ...defaultRetryPolicy, ...policy }, signal, deps))
      events.push(event);
  } catch (caught) {
    error = caught;
  }
  return { events, error };
}

describe("withRetries", () => {
  test("passes the events of an attempt that succeeds on, without signs of life", async () => {
    const text: ModelEvent = { type: "text", delta: "hi" };
    const { events, error } = await run(scripted([heartbeat, text, heartbeat, done]));
    expect(error).toBeUndefined();
    expect(events).toEqual([text, done]);
  });

  test("tries a transient failure again and announces each wait", async () => {
    const attempt = scripted([{ type: "text", delta: "void" }, busy()], [busy()], [done]);
    const { waits, deps } = recordedWaits();
    const { events } = await run(attempt, {}, never, deps);
    const reason = "The model service is busy (HTTP 529)";
    expect(events).toEqual([
      { type: "text", delta: "void" },
      { type: "retry", attempt: 2, delayMs: 1_000, reason },
      { type: "retry", attempt: 3, delayMs: 2_000, reason },
      done,
    ]);
    expect(waits).toEqual([1_000, 2_000]);
  });

  test("gives up after the last attempt with their number and a sentence that is safe to show", async () => {
    const attempt = scripted([busy()], [busy()], [busy()], [busy()], [done]);
    const { error } = await run(attempt);
    expect(attempt.made).toBe(4);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({
      kind: "transient",
      attempts: 4,
      detail: "overloaded",
      message: "The model service is busy (HTTP 529) after 4 attempts; try again in a few minutes.",
    });
  });

  test("makes one attempt when retries are switched off", async () => {
    const attempt = scripted([busy()], [done]);
    const { error } = await run(attempt, { maxRetries: 0 });
    expect(attempt.made).toBe(1);
    expect(error).toMatchObject({ attempts: 1, message: expect.stringContaining("after 1 attempt;") });
  });

  test.each(["auth", "quota", "overflow", "not-found", "invalid-request", "content-filter"] as const)(
    "does not try a failure of kind %s again",
    async (kind) => {
      const attempt = scripted([new AttemptFailed(kind, "No.")], [done]);
      const { error } = await run(attempt);
      expect(attempt.made).toBe(1);
      expect(error).toMatchObject({ kind, attempts: 1, message: "No." });
    },
  );

  test("waits as long as the service asks, beyond its own cap", async () => {
    const failure = new AttemptFailed("transient", "Slow down", { retryAfterMs: 90_000 });
    const { waits, deps } = recordedWaits();
    await run(scripted([failure], [done]), {}, never, deps);
    expect(waits).toEqual([90_000]);
  });

  test("gives up at once when the service asks for a wait beyond the deadline", async () => {
    const failure = new AttemptFailed("transient", "Slow down", { retryAfterMs: 3_600_000 });
    const { waits, deps } = recordedWaits();
    const { error } = await run(scripted([failure], [done]), {}, never, deps);
    expect(waits).toEqual([]);
    expect(error).toMatchObject({
      ...{ kind: "transient", attempts: 1 },
      message: "Slow down after 1 attempt; try again in 60 minutes.",
      reason: "Slow down after 1 attempt.",
    });
  });

  test.each([
    [2_000, "a few minutes"],
    [5 * 60_000 + 1, "6 minutes"],
    [150 * 60_000, "3 hours"],
  ])("that has waited in vain after a retry-after of %i ms says to try again in %s", async (ms, when) => {
    const failure = new AttemptFailed("transient", "Slow down", { retryAfterMs: ms });
    const { error } = await run(scripted([failure]), { maxRetries: 0 });
    expect(error).toMatchObject({ message: `Slow down after 1 attempt; try again in ${when}.` });
  });

  test("takes a stream that ends before its end event for a failure", async () => {
    const { events } = await run(scripted([{ type: "text", delta: "ha" }], [done]));
    expect(events.map(({ type }) => type)).toEqual(["text", "retry", "done"]);
    expect(events[1]).toMatchObject({ reason: "The model service broke off its answer" });
  });

  test("aborts an attempt that is silent for too long and tries again", async () => {
    let aborted = false;
    let made = 0;
    async function* attempt(signal: AbortSignal): AsyncGenerator<ModelEvent> {
      made += 1;
      yield { type: "text", delta: "so far" };
      if (made === 1) {
        await new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
        }).finally(() => (aborted = true));
      }
      yield done;
    }
    const { events } = await run(attempt, { idleMs: 20 });
    expect(aborted).toBe(true);
    expect(events.map(({ type }) => type)).toEqual(["text", "retry", "text", "done"]);
    expect(events[1]).toMatchObject({ reason: "The model service sent nothing for 0.02 s" });
  });

  test("aborts an attempt that sends nothing but pings for ten times as long", async () => {
    let left = 1_000;
    async function* attempt(signal: AbortSignal): AsyncGenerator<ModelEvent> {
      const pings = left;
      left = 0;
      yield { type: "text", delta: "so far" };
      for (let sent = 0; sent < pings; sent += 1) {
        await sleep(5);
        signal.throwIfAborted();
        yield ping;
      }
      yield done;
    }
    // A busy machine may be silent for so long by itself.
    const { events } = await run(attempt, { idleMs: 300 });
    expect(events.map(({ type }) => type)).toEqual(["text", "retry", "text", "done"]);
    expect(events[1]).toMatchObject({ reason: "The model service sent nothing of its answer for 3 s" });
  });

  test("goes on for as long as there is something of an answer, shown or not", async () => {
    async function* attempt(signal: AbortSignal): AsyncGenerator<ModelEvent> {
      for (let sent = 0; sent < 40; sent += 1) {
        await sleep(100);
        signal.throwIfAborted();
        yield sent % 2 === 0 ? ping : heartbeat;
      }
      yield done;
    }
    const { events } = await run(attempt, { idleMs: 300 });
    expect(events.map(({ type }) => type)).toEqual(["done"]);
  });

  test("does not count the time that the consumer takes as silence", async () => {
    const types: string[] = [];
    const attempt = scripted([{ type: "text", delta: "a" }, { type: "text", delta: "b" }, done]);
    for await (const event of withRetries(attempt, { ...defaultRetryPolicy, idleMs: 15 }, never)) {
      types.push(event.type);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    expect(types).toEqual(["text", "text", "done"]);
  });

  test("rethrows the reason of an abort, whatever the attempt makes of it", async () => {
    const reason = { kind: "stop" };
    const stop = new AbortController();
    async function* attempt(signal: AbortSignal): AsyncGenerator<ModelEvent> {
      yield { type: "text", delta: "a" };
      stop.abort(reason);
      expect(signal.aborted).toBe(true);
      throw busy();
    }
    const { events, error } = await run(attempt, {}, stop.signal);
    expect(error).toBe(reason);
    expect(events).toEqual([{ type: "text", delta: "a" }]);
  });

  test("yields nothing more after an abort, also when the attempt goes on", async () => {
    const reason = new Error("stopped");
    const stop = new AbortController();
    async function* attempt(): AsyncGenerator<ModelEvent> {
      yield { type: "text", delta: "a" };
      stop.abort(reason);
      yield { type: "text", delta: "b" };
      yield done;
    }
    const { events, error } = await run(attempt, {}, stop.signal);
    expect(error).toBe(reason);
    expect(events).toEqual([{ type: "text", delta: "a" }]);
  });

  test("rethrows the reason of an abort during a wait", async () => {
    const reason = { kind: "shutdown" };
    const stop = new AbortController();
    const attempt = scripted([busy()], [done]);
    const events: ModelEvent[] = [];
    const call = async () => {
      for await (const event of withRetries(attempt, { ...defaultRetryPolicy, baseMs: 60_000 }, stop.signal, {
        random: () => 1,
      })) {
        events.push(event);
        queueMicrotask(() => stop.abort(reason));
      }
    };
    await expect(call()).rejects.toBe(reason);
    expect(attempt.made).toBe(1);
  });

  test("makes no attempt when it is aborted before it starts", async () => {
    const attempt = scripted([done]);
    const { error } = await run(attempt, {}, AbortSignal.abort("early"));
    expect(error).toBe("early");
    expect(attempt.made).toBe(0);
  });

  test("does not retry a fault of the program", async () => {
    const fault = new TypeError("x is not a function");
    const attempt = scripted([fault], [done]);
    const { error } = await run(attempt);
    expect(error).toBe(fault);
    expect(attempt.made).toBe(1);
  });

  test("waits a random time below a doubling bound that is capped", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          maxRetries: fc.nat(12),
          baseMs: fc.integer({ min: 1, max: 5_000 }),
          capMs: fc.integer({ min: 1, max: 60_000 }),
        }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        async (policy, random) => {
          const { waits, deps } = recordedWaits(random);
          const attempt = scripted(...Array.from({ length: 20 }, () => [busy()]));
          await run(attempt, { ...policy, deadlineMs: Number.MAX_SAFE_INTEGER }, never, deps);
          expect(attempt.made).toBe(policy.maxRetries + 1);
          for (const [index, wait] of waits.entries()) {
            expect(wait).toBe(Math.round(random * Math.min(policy.capMs, policy.baseMs * 2 ** index)));
          }
        },
      ),
    );
  });
});
