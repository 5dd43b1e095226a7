import { expect, onTestFinished, test } from "vitest";
import type { Asker } from "../../../src/agent/mcp/asker.ts";
import { createInputStore } from "../../../src/queue/stores/mcp-inputs.ts";
import { startRedis } from "../../fakes/redis.ts";
import { never, poolOf, run, toolNamed } from "./harness.ts";
import { startStatelessServer } from "./servers/stateless.ts";

/** Servers of the protocol without sessions, with the protocol's own package: docs/decisions/0057. */

test.each(["reject", "stateless"] as const)(
  "A server of 2026-07-28 is spoken to in that, whether or not it knows older versions (%s)",
  async (legacy) => {
    const { url, requests } = await startStatelessServer(legacy);
    const pool = await poolOf({ web: { url } });
    expect((await pool.offer(never)).instructions).toMatchObject([{ text: "Echo first." }]);
    expect(await run(await toolNamed(pool, "web__echo"), { say: "hi" })).toEqual({
      status: "ok",
      text: "hi",
    });
    expect(new Set(requests.map(({ version }) => version))).toEqual(new Set(["2026-07-28"]));
    expect(requests).toContainEqual({ version: "2026-07-28", method: "tools/call", name: "echo" });
    expect(requests.map(({ method }) => method)).not.toContain("initialize");
  },
);

test("A tool that needs the tasks extension says so in one sentence", async () => {
  const { url } = await startStatelessServer("reject");
  const pool = await poolOf({ web: { url } });
  expect(await run(await toolNamed(pool, "web__long"))).toEqual({
    status: "error",
    text: "The MCP server web refused the call: it runs this only as a task (the extension io.modelcontextprotocol/tasks), which Heddle does not support",
  });
});

test("A server is told the trace that a call belongs to, where traces are taken", async () => {
  const { url } = await startStatelessServer("reject");
  const pool = await poolOf({ web: { url } });
  const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const call = async (given: object) => {
    const asker: Asker = { person: "slack:T1:ada", name: "Ada", others: () => [], ...given };
    const { tools } = await pool.offer(never, asker);
    const tool = tools.find(({ name }) => name === "web__trace");
    return tool && (await run(tool)).text;
  };
  expect(await call({ trace })).toBe(trace);
  expect(await call({})).toBe("undefined");
});

test("What such a server needs to know is kept for its person, whose answer counts in the next call", async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const { url } = await startStatelessServer("reject");
  const inputs = createInputStore(redis.client());
  const pool = await poolOf({ web: { url } }, { inputs });
  const asker: Asker = { person: "slack:T1:ada", name: "Ada", others: () => [] };
  const call = async () => {
    const { tools } = await pool.offer(never, asker);
    const tool = tools.find(({ name }) => name === "web__remove");
    if (!tool) throw new Error("The tool is there.");
    return (await run(tool)).text;
  };
  const first = await call();
  expect(first).toMatch(/^not removed\n\[.*nobody has answered yet/);
  const id = /"question":"([0-9a-f]+)"/.exec(first)?.[1] ?? "";
  await inputs.answer(asker.person, id, { action: "accept", content: { how: "To the bin" } });
  expect(await call()).toBe("removed: To the bin");
});
