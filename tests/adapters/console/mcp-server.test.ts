import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Role } from "../../../src/chat/roles.ts";
import { createAccessTokens } from "../../../src/operations/people/access-tokens.ts";
import { announceSession } from "../../../src/queue/outbox/live-events.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { call } from "./requests.ts";
import { askChoice, begin, calling, end, usageOf, write } from "./sessions.ts";
import { startConsole, type TestConsole } from "./start-console.ts";

let redis: TestRedis;
let console: TestConsole;
beforeAll(async () => {
  redis = await startRedis();
  console = await startConsole({ redis, token: "a-token-of-the-console" });
});
afterAll(async () => {
  await console[Symbol.asyncDispose]();
  await redis.stop();
});

async function connect(role: Role, name = "ada"): Promise<Client & AsyncDisposable> {
  const { token } = await createAccessTokens(redis.client(), Date.now).create({ name, role });
  const client = new Client({ name: "editor", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", console.url), { requestInit }));
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** The text of a call's result, and whether it is a refusal. */
async function use(
  client: Client,
  name: string,
  input: Record<string, unknown>,
  onProgress?: (message: string | undefined) => unknown,
): Promise<{ text: string; isError: boolean; json: () => Record<string, unknown> }> {
  const options = onProgress && {
    onprogress: (news: { message?: string | undefined }) => onProgress(news.message),
  };
  const result = await client.callTool({ name, arguments: input }, undefined, options);
  const [first] = Array.isArray(result.content) ? result.content : [];
  return { text: first.text, isError: result.isError === true, json: () => JSON.parse(first.text) };
}

const answered = (text: string) => ({ kind: "answered", text, steps: 1, usage: usageOf(0.01) }) as const;

describe("an editor", () => {
  test("starts a thread under the name of its token, once for one key", async () => {
    await using client = await connect("member");
    const first = (await use(client, "start", { text: "Paint the fence", key: "k1" })).json();
    const again = (await use(client, "start", { text: "Paint the fence", key: "k1" })).json();
    expect(again["id"]).toBe(first["id"]);
    expect(console.intake.events.at(-1)).toMatchObject({
      ...{ kind: "message", text: "Paint the fence", thread: { thread: first["id"] } },
      author: { name: "ada" },
    });
    const other = await use(client, "start", { text: "Another", key: "k1" });
    expect(other).toMatchObject({ isError: true, text: expect.stringContaining("use a new one") });
    // By the API it is the same key.
    const { token } = await createAccessTokens(redis.client(), Date.now).create({
      name: "ada",
      role: "member",
    });
    const headers = { authorization: `Bearer ${token}`, "idempotency-key": "k1" };
    const json = { text: "Paint the fence" };
    const byApi = await call(console.url, "/api/v1/threads", { method: "POST", headers, json });
    expect(byApi.json()).toMatchObject({ id: first["id"] });
  });

  test("follows it with progress until nothing runs there", async () => {
    await using client = await connect("viewer");
    const thread = "local:console:main:abcdefgh8888";
    await write(redis.client(), thread, "Paint");
    const lease = await begin(redis.client(), thread);
    const parts = [{ type: "text" as const, text: "Red it is." }];
    const seen: (string | undefined)[] = [];
    const following = use(client, "follow", { thread: "abcdefgh8888" }, async (message) => {
      seen.push(message);
      if (seen.length > 1) return;
      await lease.append([calling(1, parts)]);
      await end(lease, answered("Red it is."));
      announceSession(redis.client(), thread, () => {});
    });
    const followed = (await following).json();
    expect(followed).toMatchObject({ state: "idle", ended: "answered" });
    expect(followed["happened"]).toBe("Ada: Paint\nHeddle: Red it is.\n[turn answered]");
    expect(seen).toContain("Ada: Paint");
    const later = await use(client, "follow", { thread, from: followed["from"] });
    expect(later.json()).toMatchObject({ state: "idle", happened: "", from: followed["from"] });
  });

  test("is told what has happened in a long thread part by part, all of it and nothing twice", async () => {
    await using client = await connect("viewer");
    const thread = "local:console:main:abcdefgh7777";
    await write(redis.client(), thread, "Count");
    const lease = await begin(redis.client(), thread);
    const count = 120;
    const said = (step: number) => [{ type: "text" as const, text: `${step}: ${"word ".repeat(200)}.` }];
    for (let step = 1; step <= count; step += 1) await lease.append([calling(step, said(step))]);
    await end(lease, answered("Done."));
    const parts: string[] = [];
    let from: unknown = 0;
    for (;;) {
      const part = (await use(client, "follow", { thread, from })).json();
      parts.push(String(part["happened"]));
      from = part["from"];
      if (part["more"] !== true) break;
    }
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) expect(part.length).toBeLessThan(60_000);
    const steps = [...parts.join("\n").matchAll(/^Heddle: (\d+): /gm)].map(([, step]) => Number(step));
    expect(steps).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  });

  test("is told after its time that the work goes on", async () => {
    await using client = await connect("viewer");
    const thread = "local:console:main:abcdefgh9999";
    await write(redis.client(), thread, "Paint");
    const lease = await begin(redis.client(), thread);
    expect((await use(client, "follow", { thread, wait_seconds: 0 })).json()).toMatchObject({
      ...{ state: "running", from: 2, happened: "Ada: Paint" },
    });
    await end(lease, answered("Done."));
  });

  test("answers what a thread asks its person, and reads it", async () => {
    await using client = await connect("member");
    const started = (await use(client, "start", { text: "Paint the house" })).json();
    const thread = String(started["thread"]);
    const question = await askChoice(redis.client(), thread, "@ada", ["Red", "Blue"]);
    const followed = await use(client, "follow", { thread });
    expect(followed.json()).toMatchObject({
      ...{ state: "asking", happened: expect.stringContaining(`Asks (question ${question.id}`) },
    });
    const details = (await use(client, "read", { thread })).json();
    expect(details).toMatchObject({
      ...{ line: { state: "asking" }, questions: [{ id: question.id, choices: ["Red", "Blue"] }] },
    });
    const wrong = await use(client, "answer", { thread, question: question.id, decision: "approve" });
    expect(wrong).toMatchObject({ isError: true, text: "This question is decided in another way." });
    const right = { thread, question: question.id, decision: "answer", choice: 1 };
    expect((await use(client, "answer", right)).json()).toMatchObject({ kind: "acted" });
    expect(console.intake.events.at(-1)).toMatchObject({ kind: "action", author: { name: "ada" } });
    await using other = await connect("member", "ben");
    expect(await use(other, "answer", right)).toMatchObject({ isError: true });
  });

  test("says more in a thread, and stops it", async () => {
    await using client = await connect("member");
    const { id } = (await use(client, "start", { text: "Begin" })).json();
    expect((await use(client, "say", { thread: id, text: "More", key: "k2" })).isError).toBe(true);
    await write(redis.client(), `local:console:main:${String(id)}`, "Begin");
    const said = await use(client, "say", { thread: id, text: "More", key: "k3" });
    expect(said.json()).toMatchObject({ kind: "accepted" });
    expect(console.intake.events.at(-1)).toMatchObject({ kind: "message", text: "More" });
    expect((await use(client, "stop", { thread: id })).json()).toMatchObject({ kind: "stopping" });
  });
});

test("a viewer reads and does nothing else; a thread of a chat platform is for operators", async () => {
  await using viewer = await connect("viewer");
  expect(await use(viewer, "start", { text: "Paint" })).toMatchObject({
    ...{ isError: true, text: expect.stringContaining("Your role here is viewer") },
  });
  const thread = "slack:T1:C1:1.1";
  await write(redis.client(), thread, "Paint");
  await using member = await connect("member");
  expect(await use(member, "stop", { thread })).toMatchObject({
    ...{ isError: true, text: expect.stringContaining("only operators") },
  });
  await using operator = await connect("operator");
  expect((await use(operator, "stop", { thread })).isError).toBe(false);
});

test.each([
  ["without a token", {}, 401],
  ["with a wrong token", { authorization: "Bearer heddle_wrong" }, 401],
  ["from a page of another site", { origin: "https://evil.example" }, 403],
] as const)("nobody is answered %s", async (_, headers, status) => {
  const json = { jsonrpc: "2.0", id: 1, method: "ping" };
  const accept = "application/json, text/event-stream";
  const answer = await call(console.url, "/mcp", { method: "POST", headers: { accept, ...headers }, json });
  expect(answer.status).toBe(status);
  expect(answer.headers["www-authenticate"]).toBe(status === 401 ? "Bearer" : undefined);
});

test("there are no sessions to open or to end, and what is no JSON is refused", async () => {
  const headers = { authorization: "Bearer a-token-of-the-console", accept: "text/event-stream" };
  for (const method of ["GET", "DELETE"])
    expect(await call(console.url, "/mcp", { method, headers })).toMatchObject({ status: 405 });
  const broken = { ...headers, "content-type": "application/json" };
  expect((await call(console.url, "/mcp", { method: "POST", headers: broken, body: "{" })).status).toBe(400);
  const huge = JSON.stringify({ text: "x".repeat(800_000) });
  expect((await call(console.url, "/mcp", { method: "POST", headers: broken, body: huge })).status).toBe(413);
});
