import { expect, onTestFinished, test } from "vitest";
import type { Asker } from "../../../src/agent/mcp/people/asker.ts";
import type { McpOffer } from "../../../src/agent/mcp/offer.ts";
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

const routed = (properties: Record<string, object>) => ({ name: "route", properties });
const region = { type: "string", "x-mcp-header": "Region" };

test("Arguments that a tool wants repeated are in headers of the call, as the server demands", async () => {
  const fixture = await startStatelessServer("reject");
  const nested = { type: "object", properties: { deep: { type: "integer", "x-mcp-header": "Deep" } } };
  fixture.offer([
    routed({
      region,
      urgent: { type: "boolean", "x-mcp-header": "Urgent" },
      nested,
      text: { type: "string" },
    }),
  ]);
  const route = await toolNamed(await poolOf({ web: { url: fixture.url } }), "web__route");
  const input = { region: "Zürich", urgent: false, nested: { deep: 42 }, text: "not repeated" };
  expect(await run(route, input)).toEqual({ status: "ok", text: JSON.stringify(input) });
  expect(fixture.params).toEqual({
    "mcp-param-region": `=?base64?${Buffer.from("Zürich").toString("base64")}?=`,
    "mcp-param-urgent": "false",
    "mcp-param-deep": "42",
  });
  expect(await run(route, { region: "us-west1" })).toMatchObject({ status: "ok" });
  expect(fixture.params).toEqual({ "mcp-param-region": "us-west1" });
});

test("A tool whose headers cannot be made is left out, told with the reason, and costs no other", async () => {
  const fixture = await startStatelessServer("reject");
  fixture.offer([
    { name: "good", properties: { region } },
    { name: "odd", properties: { score: { type: "number", "x-mcp-header": "Score" } } },
    { name: "split", properties: { where: { ...region, "x-mcp-header": "Re gion" } } },
  ]);
  const pool = await poolOf({ web: { url: fixture.url } });
  const names = (await pool.offer(never)).tools.map(({ name }) => name);
  expect(names).toContain("web__good");
  expect(names).not.toContain("web__odd");
  expect(names).not.toContain("web__split");
  const [status] = pool.status();
  expect(status?.problem).toBe(
    'odd is left out: x-mcp-header of score cannot be used: only texts, whole numbers and yes-or-no can be in headers. split is left out: x-mcp-header of where cannot be used: "Re gion" is no name of a header.',
  );
});

test("A call whose headers a server wants otherwise by now is made once more, by its new definition", async () => {
  const fixture = await startStatelessServer("reject");
  fixture.offer([routed({ region: { type: "string" } })]);
  const route = await toolNamed(await poolOf({ web: { url: fixture.url } }), "web__route");
  fixture.offer([routed({ region })]);
  expect(await run(route, { region: "us-west1" })).toMatchObject({ status: "ok" });
  expect(fixture.params).toEqual({ "mcp-param-region": "us-west1" });
  expect(fixture.requests.filter(({ name }) => name === "route")).toHaveLength(2);
});

test("Tools that such a server announces in a turn are there in its next step, also after it has hung up", async () => {
  let clock = 1_000_000;
  const fixture = await startStatelessServer("reject");
  const pool = await poolOf({ web: { url: fixture.url } }, { now: () => clock });
  const listens = () => fixture.requests.filter(({ method }) => method === "subscriptions/listen").length;
  const announce = async (from: McpOffer, ...names: string[]) => {
    fixture.offer(
      names.map((name) => ({ name, properties: {} })),
      "told",
    );
    let renewed: McpOffer | undefined;
    await expect.poll(async () => (renewed = await from.renew(never))).toBeDefined();
    expect(renewed?.tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(names.map((name) => `web__${name}`)),
    );
    return renewed ?? from;
  };
  const first = await pool.offer(never);
  await expect.poll(() => fixture.listening()).toBe(1);
  const second = await announce(first, "one");
  fixture.hangUp();
  await expect.poll(() => fixture.listening()).toBe(0);
  expect(listens()).toBe(1);
  clock += 61_000;
  expect(await second.renew(never)).toBeUndefined();
  await expect.poll(() => fixture.listening()).toBe(1);
  await announce(second, "one", "two");
  expect(pool.status()).toMatchObject([{ state: "ready" }]);
});

test("A list is read again when the time is over that its server gives it, and at most once a minute", async () => {
  let clock = 1_000_000;
  const fixture = await startStatelessServer("reject");
  const pool = await poolOf({ web: { url: fixture.url } }, { now: () => clock });
  const offer = await pool.offer(never);
  fixture.offer([{ name: "quiet", properties: {} }]);
  clock += 59_000;
  expect(await offer.renew(never)).toBeUndefined();
  clock += 2_000;
  expect((await offer.renew(never))?.tools.map(({ name }) => name)).toContain("web__quiet");
});
