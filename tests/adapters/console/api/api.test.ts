import { RedisUnavailable } from "../../../../src/queue/redis/unavailable.ts";
import { request } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { consoleThread } from "../../../../src/adapters/console/conversations/refs.ts";
import {
  consoleAuthor,
  createConsoleIntake,
  createConsoleThread,
} from "../../../../src/adapters/console/conversations/intake.ts";
import { call, openStream } from "../requests.ts";
import { type MessageEvent, startConsole, type TestConsole } from "../start-console.ts";

let console: TestConsole;
let thread: string;

beforeAll(async () => {
  console = await startConsole();
});
afterAll(() => console[Symbol.asyncDispose]());
beforeEach(() => {
  thread = createConsoleThread().thread;
  console.workspace.clear();
  console.intake.events.length = 0;
  const where = { thread: "local:console:main:x" };
  console.intake.result = (event) =>
    event.kind === "message" ? { kind: "accepted", ...where, position: 1 } : { kind: "stopping", ...where };
});

const say = (text: string, key = "first-key") =>
  call(console.url, `/api/threads/${thread}/messages`, { method: "POST", json: { text, key } });

async function conversation(): Promise<unknown> {
  using page = await openStream(console.url, `/api/events?thread=${thread}`);
  return await page.next("conversation");
}

describe("saying something", () => {
  test("the first message makes the thread and reaches the intake as a direct message", async () => {
    const answer = await say("## Write a **calculator**\nin Python");
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ kind: "accepted" });
    expect(console.intake.events).toMatchObject([
      {
        kind: "message",
        addressed: "direct",
        thread: { platform: "local", workspace: "console", channel: "main", thread },
        text: "## Write a **calculator**\nin Python",
        author: { id: "console", standing: "operator" },
        attachments: [],
      },
    ]);
    const list = await call(console.url, "/api/threads");
    expect(list.json()).toContainEqual({
      id: thread,
      title: "Write a calculator",
      activeAt: expect.any(Number),
    });
  });

  test("the message is in the thread before the intake hears of it, so that a worker can mark it", async () => {
    console.intake.result = async (event) => {
      if (event.kind === "message") await console.surface.mark(event.ref, "taken");
      return { kind: "accepted", thread: "x", position: 1 };
    };
    await say("hello");
    expect(await conversation()).toMatchObject({
      messages: [{ kind: "person", text: "hello", mark: "taken" }],
    });
  });

  test("sending again with the same key says it once, and offers the intake the same message", async () => {
    await say("hello", "key-of-hello");
    await say("hello", "key-of-hello");
    const refs = console.intake.events.filter((event): event is MessageEvent => event.kind === "message");
    expect(refs[1]?.ref).toEqual(refs[0]?.ref);
    expect(await conversation()).toMatchObject({ messages: [{ text: "hello" }] });
  });

  test("of a message that is refused the intake tells, and the console adds nothing", async () => {
    const result = { kind: "refused", reply: "You may not use Heddle here." } as const;
    console.intake.result = () => result;
    expect((await say("hello")).json()).toEqual(result);
    expect(await conversation()).toMatchObject({ messages: [{ kind: "person", text: "hello" }] });
  });

  test("a message that is ignored says so in the thread", async () => {
    const result = { kind: "ignored", why: "You may not use Heddle here." } as const;
    console.intake.result = () => result;
    const answer = await say("hello");
    expect(answer.json()).toEqual(result);
    expect(await conversation()).toMatchObject({
      thread: { state: "failed" },
      messages: [
        { kind: "person", mark: "failed" },
        { kind: "notice", markdown: expect.stringContaining("You may not use Heddle here.") },
      ],
    });
  });

  test("when the intake cannot be reached, the person is told and the log has the reason", async () => {
    console.errors.length = 0;
    console.intake.result = () => Promise.reject(new Error("Redis is away at 10.0.0.1"));
    const answer = await say("hello");
    expect(answer.status).toBe(503);
    expect(answer.body).not.toContain("10.0.0.1");
    expect(answer.json()).toEqual({ error: expect.stringContaining("Try again") });
    expect(console.errors).toHaveLength(1);
  });

  test("an outage of Redis is a sentence in the log, and no error with its place", async () => {
    console.errors.length = 0;
    console.warnings.length = 0;
    const away = new RedisUnavailable("Redis does not answer. Try again in a moment.");
    console.intake.result = () => Promise.reject(away);
    const answer = await say("hello");
    expect([answer.status, answer.json()]).toEqual([503, { error: away.message }]);
    expect(console.errors).toEqual([]);
    expect(console.warnings).toEqual([`the console could not answer a request: ${away.message}`]);
  });

  test.each([
    ["no text", { json: { text: " \n ", key: "first-key" } }, 400],
    ["no key", { json: { text: "hello" } }, 400],
    ["broken JSON", { body: "{", headers: { "content-type": "application/json" } }, 400],
    ["a form's media type", { body: "text=hello", headers: { "content-type": "text/plain" } }, 415],
    ["too much text", { json: { text: "x".repeat(100_001), key: "first-key" } }, 400],
    ["a body beyond all bounds", { json: { text: "x".repeat(800_000), key: "first-key" } }, 413],
  ])("%s is refused with a sentence", async (_what, sent, status) => {
    const answer = await call(console.url, `/api/threads/${thread}/messages`, { method: "POST", ...sent });
    expect(answer.status).toBe(status);
    expect(answer.json()).toEqual({ error: expect.stringMatching(/\.$|expected/) });
    expect(console.intake.events).toEqual([]);
  });

  test("an id that could not be a thread's is not found", async () => {
    for (const id of ["a", "UPPERCASE", "a{b}cdefgh", "..%2f..%2fetc", "x".repeat(33)]) {
      const answer = await call(console.url, `/api/threads/${id}/messages`, {
        method: "POST",
        json: { text: "hello", key: "first-key" },
      });
      expect(answer.status).toBe(404);
    }
  });
});

describe("sending files along", () => {
  const send = (query: string, body = "1,2", type = "application/octet-stream") =>
    call(console.url, `/api/threads/${thread}/attachments${query}`, {
      ...{ method: "POST", body, headers: { "content-type": type } },
    });
  const sayWith = (attachments: string[], key = "first-key") =>
    call(console.url, `/api/threads/${thread}/messages`, {
      ...{ method: "POST", json: { text: "read this", key, attachments } },
    });
  const idOf = (answer: { json(): unknown }) => (answer.json() as { id: string }).id;

  test("a file comes with the message that names it, and its content can be read", async () => {
    const id = idOf(await send("?name=a%20b.csv&type=text/csv"));
    expect((await sayWith([id])).json()).toMatchObject({ kind: "accepted" });
    const [event] = console.intake.events;
    const [file] = event?.kind === "message" ? event.attachments : [];
    expect(file).toMatchObject({ name: "a b.csv", mediaType: "text/csv", bytes: 3 });
    if (!file || !console.surface.download) throw new Error("No file came.");
    const chunks = await Array.fromAsync(console.surface.download(file, AbortSignal.timeout(5_000)));
    expect(Buffer.concat(chunks).toString()).toBe("1,2");
  });

  test("a message may be nothing but files; its thread is then called after them", async () => {
    const id = idOf(await send("?name=plan.pdf&type=application/pdf"));
    const json = { text: " ", key: "first-key", attachments: [id] };
    const said = await call(console.url, `/api/threads/${thread}/messages`, { method: "POST", json });
    expect(said.status).toBe(200);
    expect(await conversation()).toMatchObject({ thread: { title: "plan.pdf" } });
  });

  test("the eleventh of files of 15 MB that no message has named is refused with a sentence", async () => {
    const body = "x".repeat(15_000_000);
    const answers = [];
    for (let n = 0; n < 11; n++) answers.push(await send(`?name=${n}`, body));
    expect(answers.map(({ status }) => status)).toEqual([...Array<number>(10).fill(200), 429]);
    expect(answers.at(-1)?.json()).toEqual({ error: expect.stringContaining("Send those with a message") });
  });

  test("no more is received at a time than a gateway has memory for, and then again", async () => {
    const url = new URL(`/api/threads/${thread}/attachments?name=large`, console.url);
    const headers = { "content-type": "application/octet-stream", "content-length": 16 * 1024 * 1024 };
    const senders = Array.from({ length: 4 }, () => {
      const sender = request(url, { method: "POST", headers });
      // It is ended by this test, in the middle of its file.
      sender.on("error", () => {});
      sender.flushHeaders();
      return sender;
    });
    await expect.poll(async () => (await send("?name=small")).status).toBe(429);
    expect((await send("?name=small")).json()).toEqual({ error: expect.stringContaining("in a minute") });
    for (const sender of senders) sender.destroy();
    await expect.poll(async () => (await send("?name=small")).status).toBe(200);
  });

  test("what a refused message brought is not kept", async () => {
    console.intake.result = () => ({ kind: "refused", reply: "Not today." });
    const id = idOf(await send("?name=a.csv"));
    await sayWith([id]);
    expect((await sayWith([id], "another-key")).status).toBe(400);
  });

  test("a message that is sent again once its file was read counts as the one that was taken", async () => {
    const id = idOf(await send("?name=a.csv"));
    await sayWith([id]);
    const [event] = console.intake.events;
    const [file] = event?.kind === "message" ? event.attachments : [];
    await console.surface.release?.(file ?? expect.fail("No file came."));
    console.intake.result = () => ({ kind: "duplicate" });
    expect((await sayWith([id])).json()).toEqual({ kind: "duplicate" });
    expect(await conversation()).toMatchObject({ messages: [{ text: "read this" }] });
  });

  test("a file of another thread does not come along", async () => {
    const id = idOf(await send("?name=a.csv"));
    thread = createConsoleThread().thread;
    expect((await sayWith([id])).status).toBe(400);
    expect(console.intake.events).toEqual([]);
  });

  test.each([
    ["no name", "", "1,2", "application/octet-stream", 400],
    ["what a form of another site could send", "?name=a", "1,2", "text/plain", 415],
    ["too much", "?name=a", "x".repeat(16 * 1024 * 1024 + 1), "application/octet-stream", 413],
  ])("%s is refused with a sentence", async (_what, query, body, type, status) => {
    const answer = await send(query, body, type);
    expect(answer.status).toBe(status);
    expect(answer.json()).toEqual({ error: expect.stringMatching(/\.$/) });
  });
});

describe("stopping", () => {
  test("a stop names the thread and who stopped it", async () => {
    await say("Sleep for ten minutes");
    const answer = await call(console.url, `/api/threads/${thread}/stop`, { method: "POST", json: {} });
    expect(answer.json()).toMatchObject({ kind: "stopping" });
    expect(console.intake.events.at(-1)).toMatchObject({
      kind: "stop",
      target: { thread: { platform: "local", thread } },
      author: { id: "console" },
    });
  });

  test("nothing can be stopped in a thread that does not exist", async () => {
    const answer = await call(console.url, `/api/threads/${thread}/stop`, { method: "POST", json: {} });
    expect(answer.status).toBe(404);
    expect(console.intake.events).toEqual([]);
  });
});

describe("buttons", () => {
  const actions = [{ id: "continue:t1", label: "Continue", style: "primary" as const }];

  async function offered(): Promise<string> {
    await say("hello");
    const message = { kind: "answer" as const, markdown: "Paused.", actions };
    const [ref] = await console.surface.post(consoleThread(thread), message, "answer");
    return ref?.message.split(".")[1] ?? "";
  }
  const press = (message: string, json: unknown) =>
    call(console.url, `/api/threads/${thread}/messages/${message}/actions`, { method: "POST", json });

  test("a button is shown with its message, and pressing it reaches the intake", async () => {
    const message = await offered();
    expect(await conversation()).toMatchObject({ messages: [{ kind: "person" }, { actions }] });
    console.intake.result = () => ({ kind: "acted", thread: "local:console:main:x" });
    const answer = await press(message, { action: "continue:t1", text: "go on" });
    expect(answer.json()).toMatchObject({ kind: "acted" });
    expect(console.intake.events.at(-1)).toMatchObject({
      ...{ kind: "action", thread: { thread }, ref: { message: `${thread}.${message}` } },
      ...{ action: "continue:t1", text: "go on", author: { id: "console" } },
    });
  });

  test("a form that a press brings is sent with values of their types, and a refusal names the field", async () => {
    const message = await offered();
    const fields = [{ name: "count", title: "How many", kind: "integer" as const, required: true }];
    const form = { title: "tickets asks", fields };
    console.intake.result = () => ({ kind: "acted", thread: "local:console:main:x", form });
    expect((await press(message, { action: "continue:t1" })).json()).toMatchObject({ form });
    expect(console.intake.events.at(-1)).not.toHaveProperty("text");
    const refused = { kind: "refused", reply: "How many: expected a whole number.", field: "count" } as const;
    console.intake.result = () => refused;
    const values = { count: 0.5, urgent: true, colour: "b", tags: ["a", "c"], chosen: [0, 2] };
    expect((await press(message, { action: "continue:t1", fields: values })).json()).toEqual(refused);
    expect(console.intake.events.at(-1)).toMatchObject({ fields: values, tellsRefusal: true });
    for (const odd of [{ count: null }, { count: [true] }, { count: "x".repeat(4_001) }])
      expect((await press(message, { action: "continue:t1", fields: odd })).status).toBe(400);
  });

  test("a button that the message does not offer cannot be pressed", async () => {
    const message = await offered();
    for (const answer of [
      await press(message, { action: "approve:x" }),
      await press("0123456789", { action: "continue:t1" }),
    ]) {
      expect(answer.json()).toEqual({ kind: "ignored", why: "this button is no longer there" });
    }
    expect((await press(message, {})).status).toBe(400);
    expect(console.intake.events.map(({ kind }) => kind)).toEqual(["message"]);
  });
});

describe("files", () => {
  test("the workspace is listed", async () => {
    await say("hello");
    console.workspace.set("src/main.py", "print(4)");
    const list = await call(console.url, `/api/threads/${thread}/files`);
    expect(list.json()).toMatchObject({
      truncated: false,
      entries: [
        { path: "src", type: "directory" },
        { path: "src/main.py", type: "file", bytes: 8 },
      ],
    });
  });

  test("a file is always saved and never shown, whatever its name says", async () => {
    await say("hello");
    const name = `naïve "page"\r\n'*.html`;
    console.workspace.set(`out/${name}`, "<script>alert(1)</script>");
    const path = encodeURIComponent(`out/${name}`);
    const file = await call(console.url, `/api/threads/${thread}/file?path=${path}`);
    expect(file.body).toBe("<script>alert(1)</script>");
    expect(file.headers).toMatchObject({
      "content-type": "application/octet-stream",
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; sandbox",
    });
    const disposition = file.headers["content-disposition"] ?? "";
    expect(disposition).toMatch(/^attachment; filename="[\w .()-]+"; filename\*=UTF-8''[\w.%-]+$/);
    expect(decodeURIComponent(disposition.split("''")[1] ?? "")).toBe(name);
  });

  test("a file that was posted to the thread can be fetched", async () => {
    await say("hello");
    const file = { name: "plot.png", data: Buffer.from([0x89, 0x50, 0xff, 0x00]) };
    const [ref] = await console.surface.upload(consoleThread(thread), file, "upload");
    const id = ref?.message.split(".")[1] ?? "";
    const response = await fetch(`${console.url}/api/threads/${thread}/uploads/${id}`);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(file.data);
    expect(response.headers.get("content-disposition")).toContain("plot.png");
  });

  test("a missing file, a file that is too large and a strange thread are told apart", async () => {
    await say("hello");
    console.workspace.set("big", "too large");
    const get = async (path: string) => (await call(console.url, `/api/threads/${path}`)).status;
    expect(await get(`${thread}/file?path=nothing`)).toBe(404);
    expect(await get(`${thread}/file`)).toBe(400);
    expect(await get(`${thread}/file?path=big`)).toBe(413);
    expect(await get(`${thread}/uploads/0123456789`)).toBe(404);
    expect(await get(`${createConsoleThread().thread}/files`)).toBe(404);
    expect(await get(`${thread}/nothing`)).toBe(404);
  });
});

describe("the terminal's intake", () => {
  test("what is said at the terminal appears in the console, and gets the intake's verdict", async () => {
    const intake = createConsoleIntake({ redis: console.redis.client(), intake: console.intake });
    const result = await intake.say(consoleThread(thread), "Run the tests", consoleAuthor());
    expect(result.kind).toBe("accepted");
    expect(await conversation()).toMatchObject({ messages: [{ kind: "person", text: "Run the tests" }] });
    expect(await intake.stop(consoleThread(thread), consoleAuthor())).toMatchObject({ kind: "stopping" });
  });

  test("what the terminal is told without a turn is in the console's thread as well", async () => {
    const intake = createConsoleIntake({
      redis: console.redis.client(),
      intake: {
        receive: async () => ({
          kind: "acted",
          thread: `local:console:main:${thread}`,
          reply: "All is well.",
        }),
      },
    });
    const chosen = { tellsRefusal: true as const };
    await intake.say(consoleThread(thread), "!status", consoleAuthor(), undefined, [], chosen);
    expect(await conversation()).toMatchObject({
      messages: [{ text: "!status" }, { kind: "notice", markdown: "All is well." }],
    });
  });
});
