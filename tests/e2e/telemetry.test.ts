import { randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keys } from "../../src/queue/redis/keys.ts";
import { call } from "../adapters/console/requests.ts";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { startCollector } from "../fakes/otlp.ts";
import { startRedis } from "../fakes/redis.ts";
import { usePlace } from "./hooks.ts";

/** What an operator sees of one task that went through a gateway and a worker, each a process of its own. */

const apiKey = "planted-secret-9f3b1c";
const collectorKey = "Bearer collector-secret-77";

const here = usePlace();

async function serveWithTelemetry() {
  const [redis, collector, model] = await Promise.all([
    startRedis(),
    startCollector({ authorization: collectorKey }),
    startFakeAnthropic({ apiKey }),
  ]);
  const environment = {
    REDIS_URL: redis.path,
    ANTHROPIC_API_KEY: apiKey,
    ANTHROPIC_BASE_URL: model.url,
    HEDDLE_MODEL: "anthropic/claude-sonnet-5-5",
    HEDDLE_LOG_LEVEL: "trace",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${encodeURIComponent(collectorKey)}`,
  };
  return {
    redis,
    collector,
    model,
    start: (args: string[], more: Record<string, string> = {}) =>
      here.place.start(args, { ...environment, ...more }),
    async [Symbol.asyncDispose]() {
      await here.place.clean();
      await Promise.all([collector.close(), model.close(), redis.stop()]);
    },
  };
}

test("One task is one trace across processes, counted by both, in the audit log, and its secrets are nowhere", async () => {
  await using on = await serveWithTelemetry();
  const { collector, model } = on;
  const worker = on.start(["start", "--role", "worker"], { HEDDLE_METRICS_PORT: "0" });
  const gateway = on.start(["start", "--role", "gateway"]);
  const served = JSON.parse(await worker.line(/metrics are served/)) as { port: number };
  const url = (await gateway.line(/console +http/)).trim().split(/ +/)[1] ?? "";
  await worker.line(/Heddle is ready/);

  const command = `echo ${apiKey}; echo tool-said-this`;
  model.push({ content: [{ type: "tool_use", name: "bash", input: { command } }] });
  model.push({ content: [{ type: "text", text: "The work is done." }] });
  const json = { text: `Please handle ${apiKey}, dear Heddle`, key: randomBytes(8).toString("hex") };
  const said = await call(url, "/api/threads/abcdefgh/messages", { method: "POST", json });
  expect(said.json()).toMatchObject({ kind: "accepted" });
  await collector.until(() => collector.spans.some(({ name }) => name === "post local"));
  await collector.until(() => collector.spans.some(({ name }) => name.startsWith("invoke_agent")));
  // Of the other process, and what nobody waits for.
  await collector.until(() => collector.spans.some(({ name }) => name === "receive message"));
  await expect.poll(() => on.redis.client().xlen(keys.audit)).toBe(5);

  // The trace
  const { spans } = collector;
  const named = (name: string) => spans.filter((span) => span.name === name);
  const [received] = named("receive message");
  const [turn] = named("invoke_agent heddle");
  expect(received?.resource["process.pid"]).not.toBe(turn?.resource["process.pid"]);
  expect(turn?.parentSpanId).toBe(received?.spanId);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  const children = spans.filter(({ parentSpanId }) => parentSpanId === turn?.spanId);
  expect(children.map(({ name }) => name).toSorted()).toEqual([
    "chat anthropic/claude-sonnet-5-5",
    "chat anthropic/claude-sonnet-5-5",
    "execute_tool bash",
    "post local",
  ]);
  expect(turn?.attributes).toMatchObject({
    "gen_ai.operation.name": "invoke_agent",
    "heddle.outcome": "answered",
    "heddle.steps": 2,
  });
  expect(named("execute_tool bash")[0]?.attributes).toMatchObject({ "gen_ai.tool.name": "bash" });
  expect(collector.bodies.join()).not.toMatch(/dear Heddle|tool-said-this|The work is done|planted-secret/);

  // The figures
  const ofGateway = (await call(url, "/metrics")).body;
  expect(ofGateway).toContain('heddle_events_total{platform="local",kind="message",verdict="accepted"} 1');
  expect(ofGateway).toMatch(/heddle_turns_running \d/);
  const ofWorker = (await call(`http://127.0.0.1:${served.port}`, "/metrics")).body;
  for (const line of [
    'heddle_turns_total{outcome="answered"} 1',
    "heddle_steps_total 2",
    'heddle_tool_calls_total{tool="bash",status="ok"} 1',
    'heddle_model_calls_total{model="anthropic/claude-sonnet-5-5",result="ok"} 2',
    // The call, and the look for what the project says.
    'heddle_sandbox_commands_total{end="exit"} 1',
    "heddle_mailbox_messages 0",
    "heddle_redis_up 1",
  ]) {
    expect(ofWorker).toContain(line);
  }
  expect(ofWorker).toMatch(/nodejs_eventloop_lag_p99_seconds/);

  // The audit log
  const audit = async (...args: string[]) => {
    const program = on.start(["audit", ...args], { HEDDLE_LOG_LEVEL: "silent" });
    return { code: await program.ended, output: program.output() };
  };
  const { code, output: told } = await audit("show");
  expect(code).toBe(0);
  expect(told).toContain("The audit log is intact: 5 entries.");
  const whats = [...told.matchAll(/Z {2}([a-z-]+)/g)].map(([, what]) => what);
  // The worker may begin before the gateway has written who asked.
  expect(new Set(whats.slice(0, 2))).toEqual(new Set(["asked", "turn-began"]));
  expect(whats.slice(2)).toEqual(["tool-began", "tool-ended", "turn-ended"]);
  expect(told).toMatch(/echo \[masked\]; echo tool-said-this/);
  expect(told).not.toMatch(/dear Heddle/);
  // Who has seen enough leaves no stack and no lock behind.
  const unread = on.start(["audit", "show"], { HEDDLE_LOG_LEVEL: "silent" });
  unread.hangUp();
  expect(await unread.ended).toBe(0);
  expect(unread.output()).not.toContain("    at ");
  const thread = String(turn?.attributes["gen_ai.conversation.id"]);
  const file = join(here.place.folder, "thread.jsonl");
  expect((await audit("export", file, "--thread", thread)).code).toBe(0);
  const entries = (await readFile(file, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { n: number; thread: string; what: string });
  expect(entries.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5]);
  expect(entries.map(({ what }) => what)).toEqual(whats);
  expect(new Set(entries.map((entry) => entry.thread))).toEqual(new Set([thread]));
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const find = async (...filter: string[]) => {
    const { code: exit, output } = await audit("show", ...filter);
    expect([filter, exit]).toEqual([filter, 0]);
    return [...output.matchAll(/Z {2}([a-z-]+)/g)].map(([, what]) => what);
  };
  const today = new Date().toISOString().slice(0, 10);
  expect(await find("--model", "anthropic/claude-sonnet-5-5")).toEqual(["turn-ended"]);
  expect(await find("--model", "anthropic/another")).toEqual([]);
  expect(await find("--state", "ok", "--since", "2026-01-01")).toEqual(["tool-ended"]);
  expect(await find("--min-cost", "0.000001", "--event", "turn-ended")).toEqual(["turn-ended"]);
  expect(await find("--min-cost", "1000")).toEqual([]);
  expect(await find("--until", "2026-01-01")).toEqual([]);
  const channel = thread.split(":").slice(0, 3).join(":");
  expect(await find("--channel", channel, "--event", "asked", "--until", today)).toEqual(["asked"]);
  expect(await find("--channel", `${channel}x`)).toEqual([]);
  expect(await find("--person", "nobody of that name")).toEqual([]);
  // What it prints is of the thread alone; what it proves is the whole log.
  const { output: elsewhere } = await audit("show", "--thread", "local:console:console:nobody");
  expect(elsewhere).toMatch(/^The audit log is intact: 5 entries\./m);
  expect(elsewhere).not.toMatch(/Z {2}[a-z]/);
  await on.redis.client().xdel("heddle:{audit}:log", "2-0");
  expect(await audit("verify")).toMatchObject({
    code: 1,
    output: expect.stringContaining("Entry 1 is followed by 3: some are missing or moved."),
  });

  // The log
  const logs = `${worker.output()}\n${gateway.output()}`;
  expect(logs).not.toMatch(/planted-secret|collector-secret|dear Heddle|tool-said-this|The work is done/);
  const lines = logs
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { msg: string; thread?: string; turn?: string; step?: number });
  expect(lines.filter(({ msg }) => /^(the|a) (turn|model|tool) /.test(msg)).length).toBeGreaterThan(5);
  for (const line of lines.filter(({ msg }) => /^(the|a) (turn|model|tool) /.test(msg)))
    expect(line).toMatchObject({ thread, turn: turn?.attributes["heddle.turn"] });
  const toolLine = lines.find(({ msg }) => msg === "a tool ended");
  expect(toolLine?.step).toBe(1);
});
