import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Asker } from "../../../src/agent/mcp/people/asker.ts";
import type { McpPool } from "../../../src/agent/mcp/pool.ts";
import { createInputStore } from "../../../src/queue/stores/mcp-inputs.ts";
import { startRedis } from "../../fakes/redis.ts";
import { listTools, never, poolOf, run, sharedFolder, toolNamed, useSandboxes } from "./harness.ts";
import { repository } from "./repository.ts";

/** Server processes of the protocol without sessions, and how it is found out which are: docs/decisions/0058. */

useSandboxes();

const server = join(repository, "tests/agent/mcp/servers/stateless-stdio.ts");

function openJournal() {
  const folder = sharedFolder();
  const file = join(folder, "journal");
  writeFileSync(file, "");
  chmodSync(file, 0o666);
  return { folder, file, read: () => readFileSync(file, "utf8").trim().split("\n").join(" ") };
}

/** An entry of such a server, and what it was started for and asked. */
function statelessFixture(fixture: object = {}) {
  const journal = openJournal();
  const env = { FIXTURE: JSON.stringify(fixture), JOURNAL: journal.file };
  const sandbox = { read: [repository], write: [journal.folder] };
  return { entry: { command: "node", args: [server], env, sandbox }, journal: journal.read };
}

const asker: Asker = { person: "slack:T1:ada", name: "Ada", others: () => [] };

async function call(pool: McpPool, name: string, given: Partial<Asker> = {}): Promise<string> {
  const { tools } = await pool.offer(never, { ...asker, ...given });
  const tool = tools.find((each) => each.name === name);
  if (!tool) throw new Error(`The tool ${name} is not there.`);
  return (await run(tool)).text;
}

describe("a process that speaks nothing but 2026-07-28", () => {
  test.each([
    ["the error that the specification has", undefined],
    ["an unknown method", { code: -32_601, message: "Method not found: initialize" }],
    ["a missing field", { code: -32_602, message: "Only 2026-07-28 is spoken here" }],
  ])("is started anew once and spoken to in that, where it refuses with %s", async (_name, refusal) => {
    const { entry, journal } = statelessFixture(refusal && { refusal });
    const pool = await poolOf({ shop: entry });
    const offer = await pool.offer(never);
    expect(offer.instructions).toMatchObject([{ text: "Look before." }]);
    expect(offer.tools.map(({ name }) => name)).toContain("shop__remove");
    expect(pool.status()).toMatchObject([{ state: "ready" }]);
    expect(journal()).toMatch(/^start initialize start server\/discover (?!.*initialize)/);
  });

  test("is not greeted in the old way again when it has ended", async () => {
    const { entry, journal } = statelessFixture();
    const pool = await poolOf({ shop: entry });
    await run(await toolNamed(pool, "shop__crash"));
    await expect.poll(() => pool.status()).toMatchObject([{ state: "lost" }]);
    expect(await call(pool, "shop__trace")).toBe("undefined");
    expect(journal().match(/start/g)).toHaveLength(3);
    expect(journal().match(/initialize/g)).toHaveLength(1);
  });

  test("announces tools within a turn, and reports progress", async () => {
    const { entry, journal } = statelessFixture();
    const pool = await poolOf({ shop: entry });
    const offer = await pool.offer(never);
    await expect.poll(journal).toContain("subscriptions/listen");
    await run(await toolNamed(pool, "shop__grow"));
    let renewed: Awaited<ReturnType<typeof offer.renew>>;
    await expect.poll(async () => (renewed = await offer.renew(never))).toBeDefined();
    expect(renewed?.tools.map(({ name }) => name)).toContain("shop__grown");
    const chunks: string[] = [];
    const steps = await toolNamed(pool, "shop__steps");
    expect(await run(steps, {}, { output: (chunk) => chunks.push(chunk) })).toMatchObject({ text: "done" });
    expect(chunks).toEqual(["1/2 boxes\n", "2/2 boxes\n"]);
  });

  test("is told the trace that a call belongs to", async () => {
    const pool = await poolOf({ shop: statelessFixture().entry });
    const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    expect(await call(pool, "shop__trace", { trace })).toBe(trace);
  });

  test("gets what it needs to know with the next call, when its person has answered", async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const inputs = createInputStore(redis.client());
    const pool = await poolOf({ shop: statelessFixture().entry }, { inputs });
    const first = await call(pool, "shop__remove");
    expect(first).toMatch(/^not removed\n\[.*nobody has answered yet/);
    const id = /"question":"([0-9a-f]+)"/.exec(first)?.[1] ?? "";
    await inputs.answer(asker.person, id, { action: "accept", content: { how: "To the bin" } });
    expect(await call(pool, "shop__remove")).toBe("removed: To the bin");
  });

  test("says how it ended where it does so when it is asked what it speaks", async () => {
    const { entry } = statelessFixture({ dies: true });
    const pool = await poolOf({ shop: entry });
    expect(await listTools(pool)).toEqual([]);
    expect(pool.status()[0]?.problem).toMatch(
      /^MCP error -32022: .*; started anew and asked for 2026-07-28: its process exited with code 9; it wrote: Segmentation fault \(pretended\)$/,
    );
  });
});

test("A process that speaks both is started once, and in the way that it was greeted", async () => {
  const { entry, journal } = statelessFixture({ both: true });
  expect(await call(await poolOf({ shop: entry }), "shop__trace")).toBe("undefined");
  expect(journal()).toBe("start initialize notifications/initialized tools/list tools/call");
});

test("A process of older versions that refuses to begin says why, and nothing of what else it was asked", async () => {
  const refusal = { code: -32_603, message: "no database" };
  const { entry, journal } = statelessFixture({ older: true, refusal });
  let now = 0;
  const pool = await poolOf({ shop: entry }, { now: () => now });
  await listTools(pool);
  expect(pool.status()).toMatchObject([{ state: "failed", problem: "MCP error -32603: no database" }]);
  now += 60_000;
  await listTools(pool);
  // What it turned out not to be it is not taken for.
  await expect.poll(journal).toMatch(/^start initialize start server\/discover start initialize/);
});

test("A process that refuses to begin and then is silent says both", async () => {
  const refused = '{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"no database"}}';
  const script = `read line; case "$line" in *initialize*) echo '${refused}';; esac; cat >/dev/null`;
  const pool = await poolOf({ shop: { command: "sh", args: ["-c", script], connect_timeout: 3 } });
  expect(await listTools(pool)).toEqual([]);
  expect(pool.status()[0]?.problem).toBe(
    "MCP error -32603: no database; started anew and asked for 2026-07-28: no answer within 3 s",
  );
});
