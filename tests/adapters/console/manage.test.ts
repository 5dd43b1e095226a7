import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { ThreadPage } from "../../../src/operations/finding.ts";
import { findThreadBranch, rememberThreadBranch } from "../../../src/queue/stores/pull-requests.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { rememberMessages } from "../../../src/queue/session/mailbox/message-threads.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
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
  const archived = (await request(console.url, "/api/sessions?state=archived")).json() as ThreadPage;
  const others = (await request(console.url, "/api/sessions")).json() as ThreadPage;
  expect([archived.found, archived.all, others.all]).toEqual([1, others.all + 1, others.found]);
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

test("what is saved as JSON has no secret as the name of a field, nor under one that says so", async () => {
  const thread = await makeThread();
  const lease = await begin(redis, thread, "t2");
  const password = ["Sup3r", "S3cret!"].join("");
  await lease.append([calling(1, [call("c2", "http__post", { users: { [secret]: 1 }, password })])]);
  const saved = await request(console.url, path(thread, "export?format=json"));
  expect(JSON.stringify(saved.json())).toContain('{"users":{"[masked]":1},"password":"[masked]"}');
});

test("a secret at the place where Markdown cuts a result is saved in neither half", async () => {
  const thread = await makeThread();
  const lease = await begin(redis, thread, "t2");
  await lease.append([resultOf("c2", "bash", `${"x".repeat(3_990)}${secret} and more`)]);
  const markdown = await request(console.url, path(thread, "export?format=markdown"));
  expect(markdown.body).toContain("x[masked] a\n…");
  expect(markdown.body).not.toContain(secret.slice(0, 8));
});

test("a thread is saved with its files in one archive, or without where it has none", async () => {
  const thread = await makeThread();
  const unpack = async () => {
    const folder = await mkdtemp(join(tmpdir(), "heddle-unpacked-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const answer = await fetch(new URL(path(thread, "export?format=tar"), console.url));
    expect(answer.headers.get("content-disposition")).toMatch(/^attachment; filename="slack_T1_C1_.*\.tar"$/);
    await writeFile(join(folder, "thread.tar"), await answer.bytes());
    await promisify(execFile)("tar", ["-C", folder, "-xf", join(folder, "thread.tar")]);
    await rm(join(folder, "thread.tar"));
    return {
      names: (await readdir(folder)).toSorted(),
      read: (name: string) => readFile(join(folder, name), "utf8"),
    };
  };
  console.workspace.set("fence.txt", "white");
  const whole = await unpack();
  expect(whole.names).toEqual(["fence.txt", "heddle-thread.json", "heddle-thread.md"]);
  expect(await whole.read("fence.txt")).toBe("white");
  expect(await whole.read("heddle-thread.md")).toContain("# Paint the fence\n");
  expect(JSON.parse(await whole.read("heddle-thread.json"))).toMatchObject({ thread });
  console.workspace.clear();
  expect((await unpack()).names).toEqual(["heddle-thread.json", "heddle-thread.md"]);
});

test("a deleted thread leaves nothing behind but numbers and who deleted it", async () => {
  const thread = await makeThread(`local:console:main:${own}`);
  const other = await makeThread("slack:T1:C1:[x]*?.1");
  const place = { platform: "local", workspace: "console", channel: "main", thread: own };
  await console.surface.post(place, { kind: "answer", markdown: "Done" }, "a");
  await console.surface.upload(place, { name: "plot.png", data: Buffer.from("png") }, "u");
  const message = await write(redis, thread, "And the gate");
  const reference = keys.reference({ ...place, message });
  // Heddle's own messages are in no journal.
  const answer = { ...place, message: "77" };
  await rememberMessages(redis, thread, [{ ...place, message }, answer]);
  await redis.set(keys.marked(answer), "1:answered");
  const ofOther = { platform: "slack", workspace: "T1", channel: "C1", message: "78" };
  await rememberMessages(redis, other, [ofOther]);
  const pushed = { host: "github.com", repository: "acme/shop", branch: "fence", at: Date.now() };
  const requester = { id: "@ada", name: "ada" };
  await rememberThreadBranch(redis, { ...pushed, thread, requester });
  await rememberThreadBranch(redis, { ...pushed, branch: "gate", thread: other, requester });
  const lease = await claimSession(redis, thread);
  expect((await post(thread, "delete")).status).toBe(409);
  await lease.take({ type: "turn-start", turn: "t2", at: Date.now() });
  await end(lease, { kind: "answered", text: "Done.", steps: 1, usage: usageOf(0.5) }, "t2");
  console.workspace.set("fence.txt", "white");

  const stale = await claimSession(redis, thread);
  expect((await post(thread, "delete")).json()).toEqual({});
  const isOfIt = (key: string) =>
    key.includes(own) || key === reference || key.includes("local:console:main:77");
  expect((await redis.keys("*")).filter(isOfIt)).toEqual([]);
  expect(await redis.get(keys.reference(ofOther))).toBe(other);
  for (const list of [keys.threads, keys.waiting, "heddle:local:threads", "heddle:local:shared"])
    expect((await redis.zrange(list, "0", "-1")).filter((member) => member.includes(own))).toEqual([]);
  expect(await redis.zrange(keys.deleted, "0", "-1")).toEqual([thread]);
  expect(await findThreadBranch(redis, pushed)).toBeUndefined();
  expect(await findThreadBranch(redis, { ...pushed, branch: "gate" })).toMatchObject({ thread: other });
  expect(console.workspace.size).toBe(0);
  expect(console.audited.at(-1)).toMatchObject({ action: "thread-deleted", thread, by: { id: "console" } });
  expect((await request(console.url, path(thread, "timeline"))).status).toBe(404);
  expect((await request(console.url, "/api/threads")).body).not.toContain(own);
  // Whoever held it before writes no more.
  await expect(stale.append([calling(2, [])])).rejects.toThrow();

  expect((await post(other, "delete")).status).toBe(200);
  expect(await listed("words=fence&state=archived")).toEqual([]);
});
