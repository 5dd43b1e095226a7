import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createAuthGuard } from "../../src/adapters/console/server/auth-guard.ts";
import { createAddressList } from "../../src/adapters/console/server/client-address.ts";
import { serveMetrics } from "../../src/adapters/console/server/metrics.ts";
import { type LanguageModel, ModelError, type ModelEvent, noUsage } from "../../src/agent/model.ts";
import { type ConnectionChange, connections, reconnects } from "../../src/chat/adapter.ts";
import { type ChatSurface, SurfaceError } from "../../src/chat/surface.ts";
import { createRateLimiter } from "../../src/queue/outbox/rate-limit.ts";
import { keys } from "../../src/queue/redis/keys.ts";
import { ConnectionSilent, silences } from "../../src/queue/redis/silence.ts";
import { deliver } from "../../src/queue/session/mailbox/mailbox.ts";
import { noChanges, type Receipt } from "../../src/queue/turns/contracts.ts";
import { createMetrics, type Metrics } from "../../src/telemetry/metrics.ts";
import { observeAll } from "../../src/telemetry/observer.ts";
import { call } from "../adapters/console/requests.ts";
import { memoryChat } from "../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { newTurn, noDisplay } from "./no-display.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

function measuring() {
  const metrics = createMetrics(server.client());
  onTestFinished(() => metrics.close());
  return { metrics, observe: observeAll([metrics.observer]) };
}

/** The lines of Heddle's own figures that are not zero, without the buckets. */
async function figures(metrics: Metrics): Promise<string[]> {
  const text = await metrics.render();
  return text.split("\n").filter((line) => line.startsWith("heddle_") && !/_bucket|_sum| 0$|ping/.test(line));
}

describe("The metrics", () => {
  test("count a stopped turn, its tools, and how long the stop took", async () => {
    const { metrics, observe } = measuring();
    const shown = observe.display(noDisplay, "memory:w:c:t", newTurn);
    const message = { role: "tool", callId: "1", name: "bash", status: "stopped", text: "" } as const;
    const event = { type: "tool-end", step: 1, message, durationMs: 1_500 } as const;
    shown.event(event);
    // By a helper.
    shown.event({ type: "helper", callId: "2", event });
    const receipt: Receipt = {
      outcome: { kind: "stopped", order: { by: "Bob", at: 1 }, steps: 3, usage: noUsage },
      durationMs: 2_000,
      files: noChanges,
      withdrawn: [],
      killed: { commands: 1, processes: 4, survivors: 0 },
      stopMs: 30,
    };
    shown.closing(receipt);
    expect(await figures(metrics)).toEqual([
      'heddle_turns_total{outcome="stopped"} 1',
      'heddle_turn_duration_seconds_count{outcome="stopped"} 1',
      "heddle_steps_total 3",
      "heddle_stop_duration_seconds_count 1",
      "heddle_sandbox_killed_processes_total 4",
      'heddle_tool_calls_total{tool="bash",status="stopped"} 2',
      'heddle_tool_duration_seconds_count{tool="bash"} 2',
      "heddle_redis_up 1",
      expect.stringMatching(/^heddle_redis_memory_used_bytes /),
    ]);
    expect(await metrics.render()).toContain('heddle_stop_duration_seconds_bucket{le="0.05"} 1');
  });

  test("give names that a model makes up no more than so much room", async () => {
    const { metrics, observe } = measuring();
    const shown = observe.display(noDisplay, "memory:w:c:t", newTurn);
    for (let n = 0; n < 500; n += 1) {
      const message = { role: "tool", callId: "1", name: `made-up-${n}`, status: "error", text: "" } as const;
      shown.event({ type: "tool-end", step: 1, message, durationMs: 1 });
    }
    const text = await metrics.render();
    expect(text.match(/^heddle_tool_calls_total\{/gm)).toHaveLength(201);
    expect(text).toContain('heddle_tool_calls_total{tool="other",status="error"} 300');
  });

  test("count each model that was asked: what failed, what took over, what it cost, what was broken off", async () => {
    const { metrics, observe } = measuring();
    const usage = { input: 100, output: 10, cacheRead: 5, cacheWrite: 0, cost: 0.25, calls: 1 };
    const message = { role: "assistant", id: "1", parts: [], model: "b/two", stop: "end" } as const;
    const events: ModelEvent[] = [
      { type: "retry", attempt: 2, delayMs: 1, reason: "" },
      { type: "fallback", model: "b/two", reason: "" },
      { type: "done", message: { ...message, parts: [] }, usage },
    ];
    const model = (stream: LanguageModel["stream"]) =>
      observe.model({
        id: "a/one",
        limits: { contextTokens: 1, maxOutputTokens: 1, images: false },
        stream,
      });
    const ask = async (asked: LanguageModel, signal = new AbortController().signal) => {
      for await (const _ of asked.stream({ system: "", messages: [], tools: [] }, signal)) continue;
    };
    await ask(
      model(async function* () {
        yield* events;
      }),
    );
    const failing = model(async function* () {
      yield* events.slice(0, 0);
      throw new ModelError("auth", "no");
    });
    await expect(ask(failing)).rejects.toThrow("no");
    await expect(ask(failing, AbortSignal.abort())).rejects.toThrow("no");
    expect((await figures(metrics)).filter((line) => line.startsWith("heddle_model"))).toEqual([
      'heddle_model_calls_total{model="a/one",result="failed"} 2',
      'heddle_model_calls_total{model="b/two",result="ok"} 1',
      'heddle_model_calls_total{model="a/one",result="aborted"} 1',
      'heddle_model_retries_total{model="a/one"} 1',
      'heddle_model_call_duration_seconds_count{model="a/one"} 3',
      'heddle_model_call_duration_seconds_count{model="b/two"} 1',
      'heddle_model_tokens_total{model="b/two",type="input"} 100',
      'heddle_model_tokens_total{model="b/two",type="output"} 10',
      'heddle_model_tokens_total{model="b/two",type="cache-read"} 5',
      'heddle_model_cost_dollars_total{model="b/two"} 0.25',
    ]);
  });

  test("count rate limits and reconnects of a platform", async () => {
    const { metrics, observe } = measuring();
    const { surface } = memoryChat();
    const output = observe.output(createRateLimiter(server.client()));
    const channel = { platform: "memory", workspace: "w", channel: "limited", thread: "t" };
    let tries = 0;
    await output.write(
      surface satisfies ChatSurface,
      channel,
      "final",
      new AbortController().signal,
      async () => {
        if (++tries === 1) throw new SurfaceError("rate-limited", "wait", { retryAfterMs: 1 });
      },
    );
    reconnects.publish({ platform: "memory" });
    silences.publish(new ConnectionSilent(5_000));
    const lines = await figures(metrics);
    expect(lines).toContain('heddle_rate_limits_total{platform="memory"} 1');
    expect(lines).toContain('heddle_reconnects_total{platform="memory"} 1');
    expect(lines).toContain("heddle_redis_silences_total 1");
  });

  test("tell for each platform how many connections bring events, down to none", async () => {
    const { metrics } = measuring();
    const change = (platform: string, isConnected: boolean | undefined) =>
      connections.publish({ platform, isConnected } satisfies ConnectionChange);
    // At boot the network is often late; the next one is cut, the last two are shards.
    for (const isConnected of [undefined, undefined]) change("late", isConnected);
    for (const isConnected of [true, false]) change("cut", isConnected);
    for (const isConnected of [undefined, true, true]) change("sharded", isConnected);
    const text = await metrics.render();
    expect(text.match(/^heddle_connections.*$/gm)).toEqual([
      'heddle_connections{platform="late"} 0',
      'heddle_connections{platform="cut"} 0',
      'heddle_connections{platform="sharded"} 2',
    ]);
  });

  test("tell what waits in Redis, for all processes", async () => {
    const { metrics } = measuring();
    const redis = server.client();
    const thread = "memory:w:c:waiting";
    const now = Date.now();
    const message = (n: number) =>
      ({ role: "user", id: `m${n}`, author: { id: "U", name: "Ada" }, text: "", at: now - 60_000 }) as const;
    await deliver(redis, thread, message(1), { onlyIfSession: false, now });
    await deliver(redis, thread, message(2), { onlyIfSession: false, now });
    await redis.hset(keys.outbox(thread), "a", "1");
    await redis.zadd(keys.slots("all"), now + 60_000, "one", now - 1, "lost");
    const lines = await figures(metrics);
    expect(lines).toEqual(
      expect.arrayContaining([
        "heddle_mailbox_messages 2",
        "heddle_turns_running 1",
        "heddle_outbox_entries 1",
        expect.stringMatching(/^heddle_mailbox_oldest_age_seconds 6\d/),
        expect.stringMatching(/^heddle_redis_memory_used_bytes \d{6,}/),
        "heddle_sessions 1",
        "heddle_largest_mailbox_records 2",
        expect.stringMatching(/^heddle_largest_mailbox_bytes \d{3}/),
      ]),
    );
    await redis.flushall();
  });
});

describe("/metrics of a worker", () => {
  test("is for whoever has the token, and is the only page there", async () => {
    const { metrics } = measuring();
    const token = "0123456789abcdef";
    const served = await serveMetrics({
      page: metrics,
      authGuard: createAuthGuard({ host: "127.0.0.1", token }),
      proxies: createAddressList([]),
      host: "127.0.0.1",
      port: 0,
      onError: () => undefined,
    });
    onTestFinished(() => served.close());
    const url = `http://127.0.0.1:${served.port}`;
    expect((await call(url, "/metrics")).status).toBe(401);
    const headers = { authorization: `Bearer ${token}` };
    expect(await call(url, "/metrics", { headers })).toMatchObject({
      status: 200,
      headers: { "content-type": expect.stringContaining("text/plain") },
      body: expect.stringContaining("heddle_redis_up 1"),
    });
    expect((await call(url, "/", { headers })).status).toBe(404);
    expect(
      (await call(url, "/metrics", { headers: { ...headers, origin: "http://evil.example" } })).status,
    ).toBe(403);
  });
});
