import { createServer } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createConsoleThread } from "../../../../src/adapters/console/conversations/intake.ts";
import { Streams } from "../../../../src/adapters/console/streams/streams.ts";
import { consoleOperator } from "../../../../src/adapters/console/server/person.ts";
import type { ThreadRef } from "../../../../src/chat/threads.ts";
import { call, openStream } from "../requests.ts";
import { begin, end as endTurn, usageOf, write } from "../sessions.ts";
import { startConsole, type TestConsole } from "../start-console.ts";
import { listenForTest } from "../../../fakes/listen-for-test.ts";

let console: TestConsole;
let thread: ThreadRef;

beforeEach(async () => {
  console = await startConsole();
  thread = createConsoleThread();
});
afterEach(() => console[Symbol.asyncDispose]());

const openPage = () => openStream(console.url, `/api/events?thread=${thread.thread}`);

async function post(markdown: string, key: string) {
  const [ref] = await console.surface.post(thread, { kind: "progress", markdown }, key);
  if (!ref) throw new Error("post returned no ref");
  return ref;
}

describe("a page's live stream", () => {
  test("begins with the list of threads and the conversation, then brings every change", async () => {
    const ref = await post("step 1", "progress");
    using page = await openPage();
    expect(await page.next("threads")).toMatchObject([{ id: thread.thread, title: "step 1" }]);
    expect(await page.next("conversation")).toMatchObject({ messages: [{ markdown: "step 1" }] });

    await console.surface.edit(ref, { kind: "progress", markdown: "step 2" });
    expect(await page.next("message")).toMatchObject({ kind: "progress", markdown: "step 2" });

    await console.surface.remove(ref);
    expect(ref.message).toContain(String(await page.next("removed")));
  });

  test("says that its thread is gone when it is deleted, and begins anew with what is written there later", async () => {
    await post("secret step", "progress");
    const session = `local:console:main:${thread.thread}`;
    const redis = console.redis.client();
    await write(redis, session, "secret task");
    await endTurn(await begin(redis, session), {
      kind: "answered",
      text: "Done.",
      steps: 1,
      usage: usageOf(0.5),
    });
    using page = await openPage();
    expect(await page.next("conversation")).toMatchObject({ messages: [{ markdown: "secret step" }] });
    const path = `/api/v1/sessions/${encodeURIComponent(session)}/delete`;
    expect((await call(console.url, path, { method: "POST", json: {} })).status).toBe(200);
    expect(await page.next("gone")).toBe(thread.thread);
    expect(await page.next("conversation")).toMatchObject({ thread: null, messages: [] });

    // Both are announced; what is told first depends on whether they arrive together.
    await post("another step", "later");
    const told = await page.nextOfEach(["message", "thread"]);
    expect(told.message).toMatchObject({ markdown: "another step" });
    expect(told.thread).toMatchObject({ id: thread.thread });
  });

  test("brings new threads and their states to pages that show another one", async () => {
    using page = await openStream(console.url, "/api/events");
    await page.next("threads");
    await call(console.url, `/api/threads/${thread.thread}/messages`, {
      method: "POST",
      json: { text: "hello", key: "first-key" },
    });
    expect(await page.next("thread")).toMatchObject({ id: thread.thread, title: "hello" });
    const [event] = console.intake.events;
    if (event?.kind === "message") await console.surface.mark(event.ref, "answered");
    expect(await page.next("thread")).toMatchObject({ state: "answered" });
  });

  test("shows the thread again in full when the page connects again", async () => {
    const ref = await post("step 1", "progress");
    {
      using page = await openPage();
      await page.next("conversation");
    }
    await console.surface.remove(ref);
    await post("step 2", "more");
    using page = await openPage();
    expect(await page.next("conversation")).toMatchObject({ messages: [{ markdown: "step 2" }] });
  });

  test("is sent anew when announcements may have been lost because Redis was away", async ({ skip }) => {
    skip(
      console.redis.server.kind === "embedded",
      "the embedded Redis cannot end connections: install redis-server",
    );
    using page = await openPage();
    await page.next("conversation");
    const admin = console.redis.client();
    const lost = page.next("conversation");
    await admin.call("CLIENT", "KILL", "TYPE", "pubsub");
    await post("written meanwhile", "key");
    expect(await lost).toMatchObject({ messages: [{ markdown: "written meanwhile" }] });
  });

  test("gives a page that reads slowly the last state instead of all of them", async () => {
    const ref = await post("start", "progress");
    using page = await openPage();
    await page.next("conversation");
    const bulk = "x".repeat(90_000);
    const edits = 120;
    for (let edit = 1; edit <= edits; edit += 1) {
      await console.surface.edit(ref, { kind: "progress", markdown: `${edit} ${bulk}` });
    }
    let received = 0;
    for (let last = 0; last < edits; received += 1) {
      const message = await page.next("message");
      last = Number.parseInt(/"markdown":"(\d+)/.exec(JSON.stringify(message))?.[1] ?? "0", 10);
    }
    expect(received).toBeLessThan(edits);
  });

  test("is refused to the 65th page", async () => {
    const pages = await Promise.all(Array.from({ length: 64 }, () => openPage()));
    const refused = await call(console.url, "/api/events");
    expect(refused.status).toBe(503);
    for (const page of pages) page[Symbol.dispose]();
  });

  test("is not begun for a page that left while its thread was looked up", async () => {
    const streams = new Streams(() => expect.unreachable());
    const person = consoleOperator();
    const leaving = new AbortController();
    const opened = Promise.withResolvers<unknown>();
    const server = createServer((_request, response) => {
      response.once("close", () => setImmediate(() => opened.resolve(streams.open({ response, person }))));
      leaving.abort();
    });
    await fetch(await listenForTest(server), { signal: leaving.signal }).catch(() => undefined);
    expect(await opened.promise).toBeUndefined();
    streams.close();
  });

  test("ends when the console stops", async () => {
    const stopping = await startConsole({ redis: console.redis });
    using page = await openStream(stopping.url, "/api/events");
    await page.next("threads");
    const end = expect(page.next("thread")).rejects.toThrow();
    await stopping[Symbol.asyncDispose]();
    await end;
  });
});
