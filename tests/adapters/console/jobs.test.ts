import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createAccessTokens } from "../../../src/operations/people/access-tokens.ts";
import { announceSession } from "../../../src/queue/outbox/live-events.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { call, openStream } from "./requests.ts";
import { askChoice, begin, calling, end, usageOf, write } from "./sessions.ts";
import { startConsole, type TestConsole } from "./start-console.ts";

let redis: TestRedis;
let console: TestConsole;
let other: TestConsole;
beforeAll(async () => {
  redis = await startRedis();
  [console, other] = await Promise.all([startConsole({ redis }), startConsole({ redis })]);
});
afterAll(async () => {
  await console[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
  await redis.stop();
});

const start = (text: string, key?: string, at: TestConsole = console, more: Record<string, string> = {}) =>
  call(at.url, "/api/v1/threads", {
    method: "POST",
    headers: { ...(key !== undefined && { "idempotency-key": key }), ...more },
    json: { text },
  });
const answered = (text: string) => ({ kind: "answered", text, steps: 1, usage: usageOf(0.01) }) as const;
const onError = (error: unknown) => {
  throw error;
};

describe("starting a thread", () => {
  test("gives its id, under which the intake has the message", async () => {
    const answer = await start("Paint the fence");
    const started = answer.json() as { id: string; thread: string };
    expect([answer.status, started.thread]).toEqual([201, `local:console:main:${started.id}`]);
    expect(console.intake.events.at(-1)).toMatchObject({
      kind: "message",
      text: "Paint the fence",
      thread: { platform: "local", thread: started.id },
    });
  });

  test("with one key on two gateways at once is one thread with one message", async () => {
    const answers = await Promise.all([start("Once", "job-1"), start("Once", "job-1", other)]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    const [first, second] = answers.map((answer) => answer.json() as { id: string });
    expect(first?.id).toBe(second?.id);
    const events = [console.intake.events.at(-1), other.intake.events.at(-1)];
    // The intake drops the second: it is the same message of the same thread.
    expect(events[0]).toMatchObject({ ref: events[1]?.kind === "message" ? events[1].ref : "?" });
  });

  test("with a key that came with another text is refused, for this person", async () => {
    await start("One", "job-2");
    const answer = await start("Another", "job-2", other);
    expect([answer.status, answer.json()]).toEqual([
      422,
      { error: expect.stringContaining("use a new one") },
    ]);
    const { token } = await createAccessTokens(redis.client(), Date.now).create({
      name: "ada",
      role: "member",
    });
    const hers = await start("Another", "job-2", other, { authorization: `Bearer ${token}` });
    expect(hers.status).toBe(201);
  });

  test("with keys that differ far behind only is another thread", async () => {
    const far = "job-3".padEnd(1_000, "x");
    const answers = await Promise.all([start("Once", `${far}1`), start("Once", `${far}2`)]);
    const ids = answers.map((answer) => (answer.json() as { id: string }).id);
    expect(new Set(ids).size).toBe(2);
  });

  test("that the intake refuses says why", async () => {
    console.intake.result = () => ({ kind: "refused", reply: "The budget of today is used up." });
    const answer = await start("Too much");
    console.intake.result = () => ({ kind: "duplicate" });
    expect([answer.status, answer.json()]).toEqual([403, { error: "The budget of today is used up." }]);
  });
});

test("a message goes by its key too, in the body or in the header", async () => {
  const { id } = (await start("Begin")).json() as { id: string };
  const say = (headers: Record<string, string>, json: object) =>
    call(console.url, `/api/v1/threads/${id}/messages`, { method: "POST", headers, json });
  expect((await say({ "idempotency-key": "more-1" }, { text: "More" })).status).toBe(200);
  expect((await say({ "idempotency-key": "more-1" }, { text: "Less" })).status).toBe(422);
  expect((await say({}, { text: "More" })).status).toBe(400);
});

describe("following a thread", () => {
  test("goes on behind the last event that was read, and ends when nothing runs or waits", async () => {
    const client = redis.client();
    const thread = "local:console:main:abcdefgh7777";
    await write(client, thread, "Paint");
    const lease = await begin(client, thread);
    using first = await openStream(console.url, "/api/v1/threads/abcdefgh7777/events?until=idle");
    expect(await first.next("entries")).toMatchObject({ from: 0, length: 2 });
    await lease.append([calling(1, [{ type: "text", text: "Red?" }])]);
    const headers = { "last-event-id": "2" };
    using second = await openStream(console.url, "/api/v1/threads/abcdefgh7777/events?until=idle", headers);
    expect(await second.next("entries")).toMatchObject({ from: 2, entries: [{ kind: "model" }] });
    await end(lease, answered("Done."));
    announceSession(client, thread, onError);
    expect(await second.next("entries")).toMatchObject({
      entries: [{ kind: "turn-end", ended: "answered" }],
    });
    expect(await second.next("line")).toMatchObject({ state: "idle" });
    await expect(second.next("never")).rejects.toThrow("ended");
  });

  test("refuses an id that no event has had, so that nobody is sent all again by mistake", async () => {
    const client = redis.client();
    await write(client, "local:console:main:abcdefgh8888", "Paint");
    await begin(client, "local:console:main:abcdefgh8888");
    const headers = { "last-event-id": "abc" };
    const refused = await call(console.url, "/api/v1/threads/abcdefgh8888/events", { headers });
    expect(refused.status).toBe(400);
    expect(refused.json()).toEqual({
      error: "Last-Event-ID: expected the id of an event of this stream.",
    });
  });
});

test("a thread is read by its short id: how it stands, what it asks and what was said", async () => {
  const { id, thread } = (await start("Paint the house")).json() as { id: string; thread: string };
  const question = await askChoice(redis.client(), thread, "console", ["Red", "Blue"]);
  const details = (await call(console.url, `/api/v1/threads/${id}`)).json();
  expect(details).toMatchObject({
    line: { thread, state: "asking" },
    questions: [{ id: question.id, choices: ["Red", "Blue"] }],
    messages: [{ kind: "person", text: "Paint the house" }],
  });
  console.intake.result = (event) =>
    event.kind === "action" ? { kind: "acted", thread } : { kind: "duplicate" };
  const json = { decision: "answer", choice: 0 };
  const path = `/api/v1/threads/${id}/questions/${question.id}`;
  expect((await call(console.url, path, { method: "POST", json })).json()).toMatchObject({ kind: "acted" });
  expect((await call(console.url, "/api/v1/threads/zzzzzzzz9999")).status).toBe(404);
});
