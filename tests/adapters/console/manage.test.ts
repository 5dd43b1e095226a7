import { afterAll, beforeAll, expect, test } from "vitest";
import type { ThreadPage } from "../../../src/operations/finding.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { claimSession } from "../../../src/queue/session/lease.ts";
import { call as request } from "./requests.ts";
import { begin, call, calling, end, resultOf, usageOf, write } from "./sessions.ts";
import { secret, startConsole, type TestConsole } from "./start-console.ts";

let console: TestConsole;
let redis: ReturnType<TestConsole["redis"]["client"]>;
beforeAll(async () => {
  console = await startConsole();
  redis = console.redis.client();
});
afterAll(() => console[Symbol.asyncDispose]());

const own = "abcdefgh22222222";
let threads = 0;

/** A thread whose only turn has ended. */
async function makeThread(id = `slack:T1:C1:${(threads += 1)}.5`, text = "Paint the fence"): Promise<string> {
  await write(redis, id, text);
  const lease = await begin(redis, id);
  const answer = calling(1, [
    { type: "text", text: `Which ${secret} colour?` },
    call("c1", "bash", { command: "ls `pwd`" }),
  ]);
  await lease.append([answer, resultOf("c1", "bash", "```\nfence.txt")]);
  await end(lease, { kind: "answered", text: "Done.", steps: 1, usage: usageOf(0.5) });
  return id;
}
const path = (thread: string, verb: string) => `/api/sessions/${encodeURIComponent(thread)}/${verb}`;
const post = (thread: string, verb: string, json: object = {}) =>
  request(console.url, path(thread, verb), { method: "POST", json });
const listed = async (query: string) =>
  ((await request(console.url, `/api/sessions?${query}`)).json() as ThreadPage).lines;

test("a thread gets another title in every list, and its own back", async () => {
  const thread = await makeThread();
  expect((await post(thread, "title", { title: "  The fence " })).status).toBe(200);
  expect(await listed(`words=${thread}`)).toMatchObject([{ title: "The fence" }]);
  expect(await listed("words=the+fence")).toHaveLength(1);
  expect((await post(thread, "title", { title: "" })).status).toBe(200);
  expect(await listed(`words=${thread}`)).toMatchObject([{ title: "Paint the fence" }]);
  expect((await post(thread, "title", { title: "x".repeat(101) })).status).toBe(400);
  expect(console.audited.at(-1)).toMatchObject({ action: "thread-renamed", thread, by: { id: "console" } });
});

test("an archived thread is off the lists until somebody writes there", async () => {
  const thread = await makeThread();
  expect((await post(thread, "archive", { archived: true })).status).toBe(200);
  expect(await listed(`words=${thread}`)).toEqual([]);
  expect(await listed(`words=${thread}&state=archived`)).toMatchObject([{ thread, archived: true }]);
  await new Promise((resolve) => setTimeout(resolve, 2));
  await write(redis, thread, "And the gate");
  expect(await listed(`words=${thread}`)).toMatchObject([{ thread, state: "waiting" }]);
  expect((await post(thread, "archive", { archived: true })).status).toBe(409);
});

test("a thread is saved as Markdown and as JSON, without its secrets", async () => {
  const thread = await makeThread();
  const markdown = await request(console.url, path(thread, "export?format=markdown"));
  expect(markdown.headers["content-disposition"]).toMatch(/^attachment; filename="slack_T1_C1_.*\.md"$/);
  expect(markdown.body).toContain("# Paint the fence\n");
  expect(markdown.body).toContain("Which [masked] colour?");
  expect(markdown.body).toContain("bash: ok\n\n````\n```\nfence.txt\n````\n");
  const json: unknown = (await request(console.url, path(thread, "export?format=json"))).json();
  expect(json).toMatchObject({
    thread,
    title: "Paint the fence",
    records: [{ type: "turn-start" }, {}, {}, {}, {}],
  });
  expect(JSON.stringify(json)).not.toContain(secret);
  expect(console.audited.at(-1)).toMatchObject({ action: "thread-exported", thread });
});

test("a deleted thread leaves nothing behind but numbers and who deleted it", async () => {
  const thread = await makeThread(`local:console:main:${own}`);
  const other = await makeThread("slack:T1:C1:[x]*?.1");
  const place = { platform: "local", workspace: "console", channel: "main", thread: own };
  await console.surface.post(place, { kind: "answer", markdown: "Done" }, "a");
  await console.surface.upload(place, { name: "plot.png", data: Buffer.from("png") }, "u");
  const message = await write(redis, thread, "And the gate");
  const reference = keys.reference({ ...place, message });
  await redis.set(reference, thread);
  const lease = await claimSession(redis, thread);
  expect((await post(thread, "delete")).status).toBe(409);
  await lease.take({ type: "turn-start", turn: "t2", at: Date.now() });
  await end(lease, { kind: "answered", text: "Done.", steps: 1, usage: usageOf(0.5) }, "t2");
  console.workspace.set("fence.txt", "white");

  const stale = await claimSession(redis, thread);
  expect((await post(thread, "delete")).json()).toEqual({});
  expect((await redis.keys("*")).filter((key) => key.includes(own) || key === reference)).toEqual([]);
  for (const list of [keys.threads, keys.waiting, "heddle:local:threads", "heddle:local:shared"])
    expect((await redis.zrange(list, "0", "-1")).filter((member) => member.includes(own))).toEqual([]);
  expect(await redis.zrange(keys.deleted, "0", "-1")).toEqual([thread]);
  expect(console.workspace.size).toBe(0);
  expect(console.audited.at(-1)).toMatchObject({ action: "thread-deleted", thread, by: { id: "console" } });
  expect((await request(console.url, path(thread, "timeline"))).status).toBe(404);
  expect((await request(console.url, "/api/threads")).body).not.toContain(own);
  // Whoever held it before writes no more.
  await expect(stale.append([calling(2, [])])).rejects.toThrow();

  expect((await post(other, "delete")).status).toBe(200);
  expect(await listed("words=fence&state=archived")).toEqual([]);
});
