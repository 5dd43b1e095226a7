import { afterAll, beforeAll, expect, test } from "vitest";
import type { WorkerReport } from "../../../src/operations/reports.ts";
import { describeStatus } from "../../../src/operations/installation/status.ts";
import { startPresence } from "../../../src/queue/turns/worker-presence.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const worker: WorkerReport = {
  ...{ host: "h", pid: 1, startedAt: 1, concurrency: 50, model: "openai/small" },
  running: [{ thread: "local:w:c:t", since: 1 }],
  sandbox: { ok: true, summary: "bubblewrap", problems: [] },
  mcp: [
    { server: "tickets", state: "failed", tools: [], problem: "It could not be reached." },
    { server: "memory", state: "connected", tools: ["a", "b"] },
  ],
};

async function status(workers: readonly WorkerReport[]): Promise<string> {
  const redis = server.client();
  const onError = (error: unknown) => expect.unreachable(String(error));
  const all = await Promise.all(
    workers.map((report) => startPresence({ redis, describe: () => report, onError })),
  );
  const text = await describeStatus(redis, "local:w:c:t");
  await Promise.all(all.map((one) => one.close()));
  return text.replaceAll("  \n", "\n");
}

test("A thread is told how it stands and which tools are missing", async () => {
  expect(await status([worker, worker])).toBe(
    [
      "**This thread**: nothing to do",
      "**Workers**: 2, with 2 turns running and room for 98 more",
      "**Model**: openai/small",
      "**Sandbox**: in force",
      "- MCP server tickets: failed, It could not be reached.",
      "- MCP server memory: connected, 2 tools",
    ].join("\n"),
  );
});

test("A thread is told what to do where there is no sandbox, and where there is no worker", async () => {
  const problems = [{ what: "bubblewrap is missing.", fix: "Install it." }];
  const sandbox = { ok: false, summary: "", problems };
  expect(await status([{ ...worker, sandbox, mcp: [] }])).toContain(
    "**Sandbox**: missing, so there are no commands and no files. bubblewrap is missing. Install it.",
  );
  expect(await status([])).toContain("**Workers**: none. What you write is kept");
});
