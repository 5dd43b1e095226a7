import { expect, test } from "vitest";
import type { Asker } from "../../../src/agent/mcp/people/asker.ts";
import type { ServerPrompt } from "../../../src/agent/mcp/listing/listing.ts";
import { never, poolOf, run, stdioFixture, toolNamed, useSandboxes } from "./harness.ts";
import { startHttpFixture } from "./servers/http.ts";
import { startStatelessServer } from "./servers/stateless.ts";

/** Prompts of servers: listed for gateways, and read when somebody has chosen one. */

useSandboxes();

const triage = {
  name: "triage",
  description: "Sorts\nwhat is new\u202E",
  arguments: [
    { name: "project", required: true, description: "Its short name,\nas in the tracker\u202E" },
    { name: "since", title: "Since when", description: "\u200B" },
  ],
};
const triaged: ServerPrompt = {
  name: "triage",
  description: "Sorts what is new",
  arguments: [
    { name: "project", about: "Its short name, as in the tracker", required: true },
    { name: "since", required: false },
  ],
};

async function open(entry: Record<string, unknown>, now = Date.now) {
  const told: { server: string; person?: string; prompts: readonly ServerPrompt[] }[] = [];
  const onPrompts = (offered: (typeof told)[number]) => void told.push(offered);
  const pool = await poolOf({ tickets: entry }, { onPrompts, now });
  await pool.offer(never);
  return { pool, told };
}

test.each(["a process", "HTTP of older versions", "HTTP of 2026-07-28"])(
  "Prompts over %s are told, and read with their arguments",
  async (over) => {
    const prompts = [triage];
    const entry =
      over === "a process"
        ? stdioFixture({ prompts })
        : over === "HTTP of 2026-07-28"
          ? { url: (await startStatelessServer("reject", { prompts: true })).url }
          : { url: (await startHttpFixture("http", 0, { prompts })).url };
    const { pool, told } = await open(entry);
    expect(told).toEqual([{ server: "tickets", prompts: [triaged] }]);
    const read = (name: string, given: Record<string, string>) =>
      pool.readPrompt({ server: "tickets", name, arguments: given }, { signal: never });
    expect(await read("triage", { project: "heddle" })).toEqual({
      status: "ok",
      text: "[user]\nSort the tickets of heddle.\n[assistant]\nWhich first?",
    });
    expect(await read("nothing", {})).toMatchObject({
      status: "error",
      text: expect.stringContaining("The MCP server tickets refused the call"),
    });
    expect(await pool.readPrompt({ server: "other", name: "triage" }, { signal: never })).toBeUndefined();
  },
);

test("A prompt whose name nobody could write is left out and told; a list that fails costs no tools", async () => {
  const odd = await open(stdioFixture({ prompts: [{ name: "two words" }, { name: "good" }] }));
  expect(odd.told).toMatchObject([{ prompts: [{ name: "good" }] }]);
  expect(odd.pool.status()).toMatchObject([
    { problem: expect.stringContaining('The prompt "two words" is left out') },
  ]);
  const failing = await open(stdioFixture({ prompts: "broken" }));
  // What others know of them stays.
  expect(failing.told).toEqual([]);
  const [status] = failing.pool.status();
  expect(status?.tools).toContain("echo");
  expect(status?.problem).toContain("Its prompts could not be listed: ");
});

test("Prompts that could not be listed are asked for again after a minute", async () => {
  let clock = 1_000_000;
  const { pool, told } = await open(stdioFixture({ prompts: "broken-once" }), () => clock);
  clock += 59_000;
  await pool.offer(never);
  expect(told).toEqual([]);
  clock += 2_000;
  await pool.offer(never);
  expect(told).toMatchObject([{ prompts: [{ name: "late" }] }]);
  expect(pool.status()[0]?.problem).toBeUndefined();
});

test("A server that does not tell its prompts has its tools meanwhile, and the prompts are told once they come", async () => {
  const { pool, told } = await open(stdioFixture({ prompts: "silent" }));
  expect(pool.status()).toMatchObject([{ state: "ready", tools: expect.arrayContaining(["echo"]) }]);
  expect(told).toEqual([]);
  const offer = await pool.offer(never);
  expect((await run(await toolNamed(pool, "tickets__echo"), { say: "hi" })).text).toBe("hi");
  const newest = async () => {
    await pool.offer(never);
    return told.at(-1)?.prompts.map(({ name }) => name);
  };
  await expect.poll(newest).toEqual(["late"]);
  // Nothing that models are given has changed.
  expect(await offer.renew(never)).toBeUndefined();
});

test("A server that never tells its prompts keeps its tools, and the status says so", async () => {
  const { pool } = await open({ ...stdioFixture({ prompts: "silent" }), connect_timeout: 8 });
  expect((await pool.offer(never)).tools.map(({ name }) => name)).toContain("tickets__echo");
  await expect
    .poll(() => pool.status()[0]?.problem, { timeout: 60_000 })
    .toBe("Its prompts could not be listed: no answer within 8 s.");
  expect(pool.status()).toMatchObject([{ state: "ready" }]);
});

test("Of a server without end the first hundred prompts are told", async () => {
  const many = Array.from({ length: 150 }, (_, index) => ({ name: `prompt-${index}` }));
  const { told, pool } = await open(stdioFixture({ prompts: many }));
  expect(told[0]?.prompts).toHaveLength(100);
  expect(pool.status()[0]?.problem).toContain("Of its prompts the first 100 are offered.");
});

test("A server that cannot be reached tells nothing, and its prompt is refused in a sentence", async () => {
  const { pool, told } = await open({ url: "http://127.0.0.1:1/mcp" });
  expect(told).toEqual([]);
  const asker: Asker = { person: "slack:T1:ada", name: "Ada", others: () => [] };
  expect(
    await pool.readPrompt({ server: "tickets", name: "triage" }, { signal: never, asker }),
  ).toMatchObject({
    status: "error",
    text: expect.stringContaining("The MCP server tickets is not available"),
  });
});
