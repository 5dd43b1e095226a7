import type { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Conversations } from "../../../../src/adapters/console/conversations/conversations.ts";
import { createConsoleThread } from "../../../../src/adapters/console/conversations/intake.ts";
import { createConsoleSurface } from "../../../../src/adapters/console/conversations/surface.ts";
import { makeRoomForShared, Uploads } from "../../../../src/adapters/console/conversations/uploads.ts";
import { startRedis, type TestRedis } from "../../../fakes/redis.ts";
import { call } from "../requests.ts";
import { startConsole } from "../start-console.ts";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const minutes = 60_000;
const days = 24 * 60 * minutes;

describe.each([
  ["the machine's Redis", false],
  ["the embedded Redis", true],
])("on %s", (_server, embedded) => {
  let server: TestRedis;
  let redis: Redis;
  let uploads: Uploads;
  let thread: string;
  let now: number;
  const quota = { threadBytes: 300 * kibibyte, allBytes: 500 * kibibyte };

  beforeAll(async () => {
    server = await startRedis({ embedded });
    redis = server.client();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    await redis.flushdb();
    now = Date.now();
    uploads = new Uploads(redis, () => now, quota);
    thread = createConsoleThread().thread;
  });

  const keep = (bytes = 100 * kibibyte, into = thread) =>
    uploads.keep(into, { name: "a.csv", mediaType: "text/csv", data: Buffer.alloc(bytes, "x") });

  async function kept(bytes?: number): Promise<string> {
    const result = await keep(bytes);
    if (!result.ok) throw new Error(result.why);
    return result.id;
  }

  const storedBytes = async (of = thread) =>
    (await redis.hlen(`heddle:{local:console:main:${of}}:local:incoming`)) / 2;

  test("four who send slowly keep nobody from sending for longer than half a minute", async () => {
    const given: string[] = [];
    const ends: (() => void)[] = [];
    const send = (who: string, megabytes = 16) =>
      uploads.receive(megabytes * mebibyte, (givenUp) => {
        givenUp.addEventListener("abort", () => given.push(who));
        return new Promise<string>((resolve) => ends.push(() => resolve(who)));
      });
    const slow = ["a", "b", "c", "d"].map((who) => send(who));
    now += 29_000;
    expect(await send("early")).toBeUndefined();
    now += 1_000;
    const late = [send("e"), send("f", 8), send("g", 8)];
    // What is too much for the rest of the room, too, ends nobody.
    expect(await send("h", 48)).toBeUndefined();
    for (const end of ends) end();
    expect(await Promise.all(slow)).toEqual([undefined, undefined, "c", "d"]);
    expect(await Promise.all(late)).toEqual(["e", "f", "g"]);
    expect(given).toEqual(["a", "b"]);
    // What they have had is free again, once.
    const next = [send("i", 64), send("j", 1)];
    expect(await next[1]).toBeUndefined();
    ends.at(-1)?.();
    expect(await next[0]).toBe("i");
  });

  test("a thread takes no more files than its quota, and says what to do", async () => {
    for (let n = 0; n < 3; n++) await kept();
    expect(await keep()).toEqual({
      ok: false,
      why: expect.stringMatching(/^The file was not taken: this thread holds more than .* wait an hour/),
    });
    expect(await storedBytes()).toBe(3);
  });

  test("all threads together take no more than theirs", async () => {
    for (let n = 0; n < 5; n++)
      expect(await keep(100 * kibibyte, createConsoleThread().thread)).toMatchObject({ ok: true });
    expect(await keep()).toEqual({ ok: false, why: expect.stringContaining("all threads together hold") });
  });

  test("many small files count as if they were larger, so that their number is bounded", async () => {
    for (let n = 0; n < 4; n++) await kept(1);
    expect(await keep(1)).toMatchObject({ ok: false });
  });

  test("a file that no message names within the hour is deleted, and makes room", async () => {
    const forgotten = await kept(300 * kibibyte);
    now += 59 * minutes;
    await uploads.sweep();
    expect(await keep()).toMatchObject({ ok: false });
    now += 2 * minutes;
    await uploads.sweep();
    expect(await storedBytes()).toBe(0);
    expect(await uploads.claim(thread, forgotten)).toBeNull();
    expect(await keep()).toMatchObject({ ok: true });
  });

  test("without anybody who sweeps, Redis lets it go by itself", async () => {
    await kept();
    const left = await redis.pttl(`heddle:{local:console:main:${thread}}:local:incoming`);
    expect(left).toBeGreaterThan(59 * minutes);
    expect(left).toBeLessThanOrEqual(60 * minutes);
  });

  test("a file that a message has named stays until a worker has read it", async () => {
    const [named, forgotten] = [await kept(), await kept()];
    const file = await uploads.claim(thread, named);
    if (!file) throw new Error("The file is gone.");
    await kept();
    expect(await redis.pttl(`heddle:{local:console:main:${thread}}:local:incoming`)).toBeGreaterThan(
      29 * days,
    );
    now += 3 * days;
    await uploads.sweep();
    expect(await uploads.claim(thread, forgotten)).toBeNull();
    expect(await uploads.read(file.handle)).toHaveLength(100 * kibibyte);
    await uploads.release(file);
    expect(await uploads.read(file.handle)).toBeNull();
    expect(await redis.keys("heddle:local:uploads")).toEqual([]);
  });

  test("a file that an older Heddle has stored can be named, read and deleted", async () => {
    const incoming = `heddle:{local:console:main:${thread}}:local:incoming`;
    const about = '{"name":"a.csv","mediaType":"text/csv","bytes":3}';
    await redis.hset(incoming, { "0123456789abcdef0123 about": about, "0123456789abcdef0123 data": "1,2" });
    const file = await uploads.claim(thread, "0123456789abcdef0123");
    if (!file) throw new Error("The file is gone.");
    expect((await uploads.read(file.handle))?.toString()).toBe("1,2");
    await uploads.release(file);
    expect(await redis.keys("*")).toEqual([]);
  });

  test("of the files that the agent shares the oldest make room; their messages stay", async () => {
    const place = createConsoleThread();
    const surface = createConsoleSurface({ redis, now: () => now });
    const conversations = new Conversations(redis, () => now);
    const ids: string[] = [];
    for (const name of ["one", "two", "three", "four"]) {
      now += 1;
      const data = Buffer.alloc(100 * kibibyte, "y");
      const [ref] = await surface.upload(place, { name, data }, name);
      ids.push(ref?.message.split(".")[1] ?? "");
    }
    const added = { thread: place.thread, message: "next", bytes: 1, at: now + 1 };
    await makeRoomForShared(redis, added, quota);
    const held = await Promise.all(ids.map((id) => conversations.file(place.thread, id)));
    expect(held.map((data) => data?.length)).toEqual([undefined, undefined, 100 * kibibyte, 100 * kibibyte]);
    expect(await conversations.messages(place.thread)).toHaveLength(4);
    await makeRoomForShared(redis, { ...added, thread: "another12345", at: now + 30 * days + 1 }, quota);
    expect(await redis.zcard("heddle:local:shared")).toBe(1);
  });
});

test("a thumbnail is a small picture of a file that is there, and is sent as nothing but a picture", async () => {
  await using console = await startConsole();
  const { thread } = createConsoleThread();
  const post = async (path: string, body: string) => {
    const headers = { "content-type": "application/octet-stream" };
    return await call(console.url, `/api/v1/threads/${thread}/${path}`, { method: "POST", headers, body });
  };
  const { id } = (await post("attachments?name=a.png", "the file")).json() as { id: string };
  const keep = async (upload: string, body: string) =>
    (await post(`attachments/${upload}/thumbnail`, body)).status;
  expect(await keep(id, "<svg onload='alert(1)'/>")).toBe(400);
  expect(await keep(id, "%PDF-1.7")).toBe(400);
  expect(await keep("0123456789abcdef0123", "GIF89a")).toBe(404);
  expect(await keep(id, `GIF89a${"x".repeat(300_000)}`)).toBe(413);
  expect([await keep(id, "GIF89a"), console.errors]).toEqual([204, []]);
  await call(console.url, `/api/v1/threads/${thread}/messages`, {
    method: "POST",
    json: { text: "Look", key: "first-key", attachments: [id] },
  });
  const [message] = await new Conversations(console.redis.client(), Date.now).messages(thread);
  expect(message).toMatchObject({ files: ["a.png"], pictures: [id] });
  const shown = await call(console.url, `/api/v1/threads/${thread}/thumbnails/${id}`);
  expect(shown).toMatchObject({
    ...{ status: 200, body: "GIF89a" },
    headers: { "content-type": "image/gif", "content-security-policy": expect.stringContaining("sandbox") },
  });
  const other = `/api/v1/threads/${createConsoleThread().thread}/thumbnails/${id}`;
  expect((await call(console.url, other)).status).toBe(404);
});
