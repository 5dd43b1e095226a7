import { afterAll, beforeAll, expect, test } from "vitest";
import { createWorkerStatus } from "../../../src/operations/installation/worker-status.ts";
import { readWorkers } from "../../../src/operations/installation/workers.ts";
import { startPresence } from "../../../src/queue/turns/worker-presence.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const onError = (error: unknown) => expect.unreachable(String(error));

test("A worker tells operators what a model's service said, without secrets and not all of it", async () => {
  const status = createWorkerStatus({
    ...{ concurrency: 1, model: () => "openai/small", mcp: { status: () => [] }, now: () => 7 },
    modelFailures: () => [
      {
        model: "openai/small",
        message: "The model service refused the request as invalid.",
        detail: `Unknown effort for key sk-canary. ${"x".repeat(5_000)}`,
        ...{ at: 5, times: 2 },
      },
    ],
    sandbox: { probe: async () => ({ ok: true, summary: "bubblewrap", problems: [], missing: [] }) },
    mask: (text) => text.replaceAll("sk-canary", "[key]"),
  });
  const redis = server.client();
  const presence = await startPresence({ redis, describe: () => status.describe(), onError });
  const [told] = await readWorkers(redis);
  expect(told?.modelFailures).toEqual([
    {
      model: "openai/small",
      message: "The model service refused the request as invalid.",
      detail: expect.stringMatching(/^Unknown effort for key \[key\]\. x{400,470}$/),
      ...{ at: 5, times: 2 },
    },
  ]);
  await presence.close();
});

test("A worker of an older version, which tells nothing of its models' failures, is listed", async () => {
  const redis = server.client();
  const older = { host: "h", pid: 1, startedAt: 1, concurrency: 50, model: "openai/small", running: [] };
  const rest = { sandbox: { ok: true, summary: "bubblewrap", problems: [] }, mcp: [] };
  const presence = await startPresence({ redis, describe: () => ({ v: 1, ...older, ...rest }), onError });
  expect(await readWorkers(redis)).toEqual([expect.objectContaining({ host: "h", model: "openai/small" })]);
  await presence.close();
});
