import { expect, onTestFinished, test } from "vitest";
import { createAnswerTool } from "../../../../src/agent/mcp/people/answer-tool.ts";
import type { Asker } from "../../../../src/agent/mcp/people/asker.ts";
import type { McpPool, McpPoolOptions } from "../../../../src/agent/mcp/pool.ts";
import {
  describeExpected,
  type InputAnswer,
  type InputRequest,
  parseForm,
} from "../../../../src/agent/server-input.ts";
import { keys } from "../../../../src/queue/redis/keys.ts";
import { createInputStore } from "../../../../src/queue/stores/mcp-inputs.ts";
import { startRedis } from "../../../fakes/redis.ts";
import { never, poolOf, run } from "../harness.ts";
import { startHttpFixture } from "../servers/http.ts";

const others: string[] = [];
const asker = (id: string): Asker => ({ person: `slack:T1:${id}`, name: id, others: () => others });
const [ada, bob] = [asker("ada"), asker("bob")];
const services = { notes: undefined as never, now: Date.now };

async function scene(options: Pick<McpPoolOptions, "log"> = {}) {
  const names = ["remove", "file", "options", "password", "pay", "visit"];
  const more = names.map((name) => ({ name, inputSchema: { type: "object" as const } }));
  const fixture = await startHttpFixture("http", 0, { more });
  onTestFinished(() => fixture.stop());
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const inputs = createInputStore(redis.client());
  const pool = await poolOf({ notes: { url: fixture.url } }, { inputs, ...options });
  /** Another process, which knows nothing but Redis. */
  const other = await poolOf({ notes: { url: fixture.url } }, { inputs: createInputStore(redis.client()) });
  return { pool, other, inputs, redis: redis.client() };
}

async function call(pool: McpPool, who: Asker | undefined, name: string, input = {}): Promise<string> {
  const { tools } = await pool.offer(never, who);
  const tool = tools.find((each) => each.name === `notes__${name}`);
  if (!tool) throw new Error(`no tool ${name}`);
  return (await run(tool, input)).text;
}

const idIn = (text: string) => /\{"question":"([0-9a-f]{12})"\}/.exec(text)?.[1] ?? "";

type Scene = Awaited<ReturnType<typeof scene>>;

const request = async (
  { inputs }: Scene,
  who: Asker,
  question: string,
): Promise<InputRequest | undefined> => {
  const decision = await createAnswerTool(inputs, who).review?.({ question }, services, never);
  return decision?.action === "ask" ? decision.input : undefined;
};

const answer = async ({ inputs }: Scene, who: Asker, question: string, said: InputAnswer) => {
  const tool = createAnswerTool(inputs, who);
  const answered = { by: { id: "x", name: "x" }, text: JSON.stringify(said) };
  const context = { ...services, callId: "c", signal: never, output: () => {}, answer: answered };
  return (await tool.run({ question }, context)).text;
};

test("What a server asks during a call is kept, and its answer counts when the call is made again, in any process", async () => {
  const all = await scene();
  const first = await call(all.pool, ada, "remove");
  expect(first).toMatch(/^cancel\n\[During this call the MCP server notes asked/);
  expect(await request(all, ada, idIn(first))).toMatchObject({
    ...{ server: "notes", message: "Remove the note *Plans*?" },
    fields: [{ name: "how", title: "How", kind: "one", required: true }],
  });
  expect(await answer(all, ada, idIn(first), { action: "accept", content: { how: "Forever" } })).toContain(
    "Make the call at notes again",
  );
  expect(await call(all.other, ada, "remove")).toBe("accept: Forever");
  // It is asked again for the next one.
  expect(await call(all.other, ada, "remove")).toMatch(/^cancel/);
});

test("An answer counts for the same person's same call alone", async () => {
  const all = await scene();
  const id = idIn(await call(all.pool, ada, "remove"));
  expect(await request(all, bob, id)).toBeUndefined();
  await answer(all, bob, id, { action: "accept", content: { how: "Forever" } });
  await answer(all, ada, id, { action: "accept", content: { how: "To the bin" } });
  expect(await call(all.pool, bob, "remove")).toMatch(/^cancel/);
  expect(await call(all.pool, ada, "remove", { other: 1 })).toMatch(/^cancel/);
  expect(await call(all.pool, ada, "remove")).toBe("accept: To the bin");
});

test("That a person declines is told apart from that nobody has decided", async () => {
  const all = await scene();
  const first = await call(all.pool, ada, "remove");
  expect(await answer(all, ada, idIn(first), { action: "decline" })).toContain("has declined");
  expect(await call(all.pool, ada, "remove")).toBe("decline");
});

test("An address is asked about with its host, whatever the server makes anew in it, and an error that names one as well", async () => {
  const all = await scene();
  const first = await call(all.pool, ada, "pay");
  expect(await request(all, ada, idIn(first))).toMatchObject({
    url: expect.stringMatching(/^https:\/\/pay\.example\/here\?nonce=/),
  });
  await answer(all, ada, idIn(first), { action: "accept" });
  expect(await call(all.pool, ada, "pay")).toBe("accept");
  const visit = await call(all.pool, ada, "visit");
  expect(visit).toContain("refused the call");
  expect(await request(all, ada, idIn(visit))).toMatchObject({ url: "https://visit.example/" });
});

test.each<[string, unknown]>([
  ["has no fields", [{}]],
  ["is none", [null]],
  ["is no list", "visit"],
])(
  "An error whose address %s refuses its call, and what is asked later is still put to people",
  async (_, sent) => {
    const all = await scene();
    expect(await call(all.pool, ada, "visit", { elicitations: sent })).toContain("refused the call");
    expect(idIn(await call(all.pool, ada, "remove"))).not.toBe("");
  },
);

test("Of the addresses that an error names those that can be read are asked about", async () => {
  const all = await scene();
  const url = "https://visit.example/";
  const good = { mode: "url", message: "Visit it.", elicitationId: "e", url };
  const visit = await call(all.pool, ada, "visit", { elicitations: [{}, good] });
  expect(await request(all, ada, idIn(visit))).toMatchObject({ url });
});

test.each(["remove", "visit"])(
  "A question of %s that cannot be kept ends nothing but itself, and is told to the model and to the operator",
  async (name) => {
    const warnings: string[] = [];
    const all = await scene({ log: ({ level, message }) => level === "warn" && warnings.push(message) });
    const answers = keys.mcpAnswer(ada.person, idIn(await call(all.pool, ada, name)));
    // Redis refuses to read what is no text.
    await all.redis.lpush(answers, "none");
    const text = await call(all.pool, ada, name);
    expect(text).toContain(name === "visit" ? "refused the call" : "cancel");
    expect(text).toContain(
      "[During this call the MCP server notes asked for something that could not be kept",
    );
    expect(warnings).toEqual([expect.stringContaining("WRONGTYPE")]);
    expect(idIn(await call(all.pool, ada, "options"))).not.toBe("");
  },
);

test("Nobody is asked for a secret, in another's place, or where nobody has asked", async () => {
  const all = await scene();
  const secret = await call(all.pool, ada, "password");
  expect(secret).toContain("cancel\n[During this call the MCP server notes asked for a secret");
  expect(idIn(secret)).toBe("");
  expect(await call(all.pool, undefined, "remove")).toBe("cancel");
  others.push("eve");
  onTestFinished(() => void others.splice(0));
  expect(await call(all.pool, ada, "remove")).toBe("cancel");
  others.splice(0);
  // The server does not say whose call its question belongs to.
  const both = await Promise.all([call(all.pool, ada, "remove"), call(all.pool, bob, "remove")]);
  expect(both.filter((text) => text.startsWith("cancel"))).toHaveLength(2);
});

test("What a form offers counts where the person leaves it out, and they read what that is", async () => {
  const all = await scene();
  const first = await call(all.pool, ada, "options");
  const asked = await request(all, ada, idIn(first));
  if (asked?.mode !== "form") throw new Error("There is no form.");
  expect(asked.fields.map(describeExpected)).toEqual([
    "a text; plans if you leave it out",
    "a whole number of at least 1; 2 if you leave it out",
    "yes or no; yes if you leave it out",
    "one of Soon, Late; Soon if you leave it out",
    "some of Red, Blue, with commas between them; Red, Blue if you leave it out",
    "a whole number of at least 1",
  ]);
  const form = parseForm(asked.fields, "urgent: no\nodd: 3");
  expect(form).toEqual({
    content: { subject: "plans", count: 2, urgent: false, when: "soon", colours: ["r", "b"], odd: 3 },
  });
});
