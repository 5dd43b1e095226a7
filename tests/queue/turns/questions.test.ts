import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createContextWindow } from "../../../src/agent/context/compaction.ts";
import { createTokenCounter } from "../../../src/agent/context/tokens.ts";
import { replay } from "../../../src/agent/journal/replay.ts";
import { runTurn } from "../../../src/agent/loop/run-turn.ts";
import { createAnswerTool } from "../../../src/agent/mcp/people/answer-tool.ts";
import type { InputField, InputRequest, WrittenFields } from "../../../src/agent/server-input.ts";
import { createPolicy } from "../../../src/agent/policy/policy.ts";
import { createMasker } from "../../../src/agent/secrets/mask-secrets.ts";
import { askUser } from "../../../src/agent/tools/ask-user.ts";
import { createDispatcher } from "../../../src/agent/tools/dispatch/dispatch.ts";
import { createMemoryNotes } from "../../../src/agent/tools/memory-notes.ts";
import { defineTool } from "../../../src/agent/tools/tool.ts";
import { trackStops } from "../../../src/app/stop-tracking.ts";
import { createTurnEngine, createTurnOutput } from "../../../src/app/turns/turn-engine.ts";
import type { Author, InboundEvent } from "../../../src/chat/inbound.ts";
import { SurfaceError } from "../../../src/chat/surface.ts";
import { type MessageRef, threadId, type ThreadRef } from "../../../src/chat/threads.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { createAccess } from "../../../src/intake/access.ts";
import { createIntake, type IntakeAuditEvent } from "../../../src/intake/intake.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { keys, queueName, queuePrefix } from "../../../src/queue/redis/keys.ts";
import { readJournal } from "../../../src/queue/session/journal/journal.ts";
import { collectDecisions } from "../../../src/queue/session/questions/open-questions.ts";
import { createInputStore } from "../../../src/queue/stores/mcp-inputs.ts";
import { noChanges, type TurnRunner } from "../../../src/queue/turns/contracts.ts";
import { createSlots } from "../../../src/queue/turns/slots.ts";
import { createAfterStop } from "../../../src/queue/turns/end-unheld-thread.ts";
import { startTurnWorker } from "../../../src/queue/turns/turn-worker.ts";
import { openTurnQueue } from "../../../src/queue/turns/wake-queue.ts";
import { toAuditFact } from "../../../src/telemetry/audit/fact.ts";
import { memoryChat, type Shown } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { offer } from "../../intake/model-offer.ts";
import { type Reply, scriptedModel } from "../../fakes/scripted-model.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const member = (id: string, name: string): Author => ({ id, name, standing: "member", roles: [] });
const ada = member("U1", "Ada");
const bob = member("U2", "Bob");
const root = member("U9", "Root");

type Chat = ReturnType<typeof memoryChat>;

/** People in a thread, and what they can do there. */
function people(chat: Chat) {
  const redis = server.client();
  const queue = openTurnQueue(redis);
  closers.push(() => queue.close());
  const audits: IntakeAuditEvent[] = [];
  const problems: unknown[] = [];
  const onProblem = (...problem: unknown[]) => problems.push(problem);
  const output = createRateLimiter(redis);
  const surface = () => chat.surface;
  const stopped = trackStops(
    createAfterStop({
      ...{ redis, queue, expireSeconds: 1_000 },
      ...createTurnOutput({ redis, output, surface, onProblem, onError: onProblem }),
    }),
    onProblem,
  );
  closers.push(() => stopped.close());
  const intake = createIntake({
    afterStop: stopped.afterStop,
    ...{ redis, queue, output, surface },
    budgets: { isOfToday: () => false, extend: async () => undefined },
    access: createAccess(
      settingsSchema.parse({ access: { administrators: [root.id], approve: "requester" } }).access,
    ),
    models: () => offer(),
    skills: async () => [],
    prompts: async () => [],
    ahead: async () => 0,
    status: async () => "",
    audit: (event) => audits.push(event),
    now: Date.now,
    onProblem() {},
  });
  const thread: ThreadRef = {
    platform: "memory",
    workspace: "w",
    channel: "c",
    thread: randomUUID().slice(0, 8),
  };
  const place = { platform: "memory", workspace: "w", channel: "c" };
  let said = 0;
  const says = async (text: string, author = ada): Promise<MessageRef> => {
    const ref = { ...place, message: `${thread.thread}-${++said}` };
    const about = { thread, ref, author, text, attachments: [], at: Date.now() };
    const result = await intake.receive({ kind: "message", addressed: "mention", ...about });
    expect(result.kind).toBe("accepted");
    return ref;
  };
  const commands = async (text: string, author: Author) => {
    const ref = { ...place, message: `${thread.thread}-${++said}` };
    const about = { thread, ref, author, text, attachments: [], at: Date.now() };
    const result = await intake.receive({ kind: "message", addressed: "follow-up", ...about });
    expect(result.kind).toBe("acted");
  };
  /** `as`: what the button's id says instead of approve. */
  const press = (
    label: string,
    {
      by = ada,
      text,
      as = "approve",
      fields,
      window,
    }: {
      by?: Author;
      text?: string;
      as?: string;
      fields?: WrittenFields;
      window?: { most: number; continues?: true };
    } = {},
  ) => {
    const shown = chat.shown.find(({ message }) => message.actions?.some((button) => button.label === label));
    const button = shown?.message.actions?.find((action) => action.label === label);
    if (!shown || !button) throw new Error(`There is no button ${label}.`);
    const event: InboundEvent = {
      ...{ kind: "action", thread, ref: shown.ref, author: by, at: Date.now() },
      action: button.id.replace(/^approve:/, `${as}:`),
      ...(text && { text }),
      ...(fields && { fields }),
      ...(window && { window }),
    };
    return { event, result: intake.receive(event) };
  };
  const stops = (message: MessageRef) =>
    intake.receive({ kind: "stop", target: { message }, author: bob, at: Date.now() });
  const id = threadId(thread);
  return { redis, intake, ref: thread, says, commands, press, stops, audits, problems, id };
}

/** What the tool ran with, over all workers of a test. */
interface Runs {
  commands: string[];
  /** Called by the tool before it returns. */
  during?: () => Promise<void>;
}

async function worker(
  chat: Chat,
  replies: Reply[],
  runs: Runs,
  { questionMs = 60_000, sweepMs = 60_000, lockMs = 30_000, total = 50, owners = "alone" } = {},
) {
  const redis = server.client();
  const queue = openTurnQueue(redis);
  const { model, requests } = scriptedModel(replies);
  const onError = () => {};
  const bash = defineTool({
    name: "bash",
    description: "bash",
    input: z.object({ command: z.string() }),
    effect: "write",
    async run({ command }) {
      runs.commands.push(command);
      await runs.during?.();
      return { status: "ok", text: `ran ${command}` };
    },
  });
  const closing = defineTool({
    name: "tickets__close",
    description: "close",
    input: z.object({ id: z.string() }),
    effect: "external",
    review: async () => ({ action: "ask", why: "Bob wrote too.", ownAccount: true }),
    async run({ id }) {
      runs.commands.push(`close ${id}`);
      return { status: "ok", text: "closed" };
    },
  });
  const answering = createAnswerTool(createInputStore(redis), {
    ...{ person: "memory:w:U1", name: "Ada", others: () => [] },
  });
  const policy = createPolicy(
    [
      { tool: "tickets__close", action: owners === "also" ? "ask" : "allow", why: "Others see it." },
      { tool: "bash", command: "git push*", action: "ask", why: "Pushes are public." },
      { tool: "bash", command: "rm *", action: "deny", why: "Nothing is removed here." },
      { tool: "bash", command: "deploy*", action: "ask", eachTime: true },
    ],
    "allow",
  );
  const runner: TurnRunner = {
    run: ({ turn, history, areApproved, followUps, signal }) =>
      runTurn({
        id: turn,
        history,
        model,
        system: "system",
        context: createContextWindow({ model, counter: createTokenCounter() }),
        tools: createDispatcher({
          tools: [bash, askUser, closing, answering],
          services: { notes: createMemoryNotes({ author: "Ada", now: Date.now }), now: Date.now },
          masker: createMasker([]),
          ...{ onError, policy, areApproved },
        }),
        followUps,
        questionMs,
        signal,
      }),
    killAll: async () => ({ commands: 0, processes: 0, survivors: 0 }),
    jobsLeft: () => undefined,
    fileChanges: async () => noChanges,
    forgetTurn() {},
  };
  const engine = await createTurnEngine({
    ...{ redis, runner, onError, onProblem: onError },
    subscriber: server.client(),
    surface: () => chat.surface,
    output: createRateLimiter(redis),
    expireSeconds: 1_000,
  });
  const running = await startTurnWorker({
    redis,
    queue,
    runSession: engine.runSession,
    endUnheldThread: engine.endUnheldThread,
    slots: createSlots(redis, { perUser: 50, perChannel: 50, total }, onError),
    concurrency: 1,
    lockMs,
    sweepMs,
    onError,
  });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= running.close().then(async () => {
      await Promise.all([engine.close(), queue.close()]);
    });
    return closed;
  };
  closers.push(close);
  return { requests, close };
}

const push: Reply = { text: "I push.", calls: [{ name: "bash", input: { command: "make && git push" } }] };
const ask: Reply = {
  calls: [{ name: "ask_user", input: { question: "Which colour?", choices: ["Red", "Blue"] } }],
};

const shows = (chat: Chat, text: string) =>
  chat.until(() =>
    chat.shown.find(({ message }) => message.kind !== "progress" && message.markdown.includes(text)),
  );
/** The question with its buttons. */
const asked = (chat: Chat) => chat.until(() => chat.shown.find(({ message }) => message.actions?.length));
const buttonsOf = ({ message }: Shown) => message.actions?.map(({ label }) => label) ?? [];

/** BullMQ's list of the jobs that a worker holds. */
const activeJobs = `${queuePrefix}:${queueName}:active`;

/** Resolves when the thread's turn is parked: its job has ended, and the thread is listed for the question's end. */
async function parked({ redis, id }: ReturnType<typeof people>) {
  const isParked = async () =>
    Number(await redis.zscore(keys.waiting, id)) > Date.now() && (await redis.llen(activeJobs)) === 0;
  // Redis tells of neither, so it is asked.
  await expect.poll(isParked, { interval: 5 }).toBe(true);
}

test("A turn that waits for people keeps nobody waiting for the word that what was not known to have ended has ended", async () => {
  const chat = memoryChat();
  const thread = people(chat);
  const lost = {
    ...{ at: Date.now() - 3_000, holder: { name: "elsewhere", fenceSeconds: 0 } },
    ...{ commands: ["make"], told: true },
  };
  await thread.redis.hset(keys.head(thread.id), "lost:1", JSON.stringify(lost));
  await worker(
    chat,
    [ask, { text: "Red it is." }],
    { commands: [] },
    { questionMs: 3_600_000, sweepMs: 200 },
  );
  await thread.says("paint it");
  await asked(chat);
  await shows(chat, "has ended: `make`");
  expect((await thread.press("Red").result).kind).toBe("acted");
  await shows(chat, "Red it is.");
});

describe("A call that is about the requester's own account", () => {
  const close: Reply = { calls: [{ name: "tickets__close", input: { id: "7" } }] };

  test("is approved by its owner alone, whoever else may approve calls", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    await worker(chat, [close, { text: "Closed." }], runs);
    await thread.says("close it");
    const question = await asked(chat);
    expect(question.message.markdown).toContain("Bob wrote too.");
    for (const by of [root, bob])
      expect(await thread.press("Approve", { by }).result).toEqual({
        kind: "refused",
        reply: "This is not for you to decide: Ada was asked.",
      });
    expect(await thread.press("Deny", { by: root }).result).toMatchObject({ kind: "refused" });
    expect(runs.commands).toEqual([]);
    expect((await thread.press("Approve").result).kind).toBe("acted");
    await shows(chat, "Closed.");
    expect(runs.commands).toEqual(["close 7"]);
  });

  test("is told with the operator's reason where the rules ask as well, and not approved for a whole thread", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    await worker(chat, [close, { text: "Closed." }], { commands: [] }, { owners: "also" });
    await thread.says("close it");
    const question = await asked(chat);
    expect(question.message.markdown).toContain("Others see it. Bob wrote too.");
    expect(buttonsOf(question)).toEqual(["Approve", "Deny", "Deny with a reason…"]);
    expect(await thread.press("Approve", { by: root }).result).toMatchObject({ kind: "refused" });
    expect((await thread.press("Approve").result).kind).toBe("acted");
    await shows(chat, "Closed.");
  });
});

describe("What an MCP server asks its person", () => {
  const call: Reply = { calls: [{ name: "answer_server", input: { question: "0123456789ab" } }] };
  const request = { server: "notes", message: "Remove *Plans*?\n# Approved", call: "c" };
  const begin = async (about: InputRequest) => {
    const chat = memoryChat();
    const thread = people(chat);
    const inputs = createInputStore(thread.redis);
    await inputs.keep("memory:w:U1", "0123456789ab", about);
    const first = await worker(chat, [call, { text: "Asked." }], { commands: [] });
    await thread.says("do it");
    const question = await asked(chat);
    return { chat, thread, first, question, answer: () => inputs.take("memory:w:U1", "0123456789ab") };
  };
  const field = { name: "how", title: "How", required: true };

  test("is chosen by a button, by that person alone, also when the worker is another one by then", async () => {
    const options = [
      { value: "f", title: "Forever" },
      { value: "b", title: "To the bin" },
    ];
    const { chat, thread, first, question, answer } = await begin({
      ...request,
      mode: "form",
      fields: [{ ...field, kind: "one", options }],
    });
    expect(buttonsOf(question)).toEqual(["Forever", "To the bin", "Decline"]);
    expect(question.message.markdown).toContain("> Remove \\*Plans\\*?\n> ");
    await first.close();
    for (const by of [root, bob])
      expect(await thread.press("Forever", { by }).result).toMatchObject({ kind: "refused" });
    expect((await thread.press("To the bin").result).kind).toBe("acted");
    await worker(chat, [{ text: "Asked again." }], { commands: [] });
    await shows(chat, "Asked again.");
    await shows(chat, "Ada: **how: b**");
    expect(await answer()).toEqual({ action: "accept", content: { how: "b" } });
  });

  test("is written into a form, and what does not fit is to be corrected", async () => {
    const { chat, thread, question, answer } = await begin({
      ...request,
      mode: "form",
      fields: [
        { ...field, kind: "text" },
        { name: "count", title: "count", kind: "integer", required: false },
      ],
    });
    expect(buttonsOf(question)).toEqual(["Answer…", "Decline"]);
    expect(question.message.markdown).toContain("- `count`: a whole number, may be left out");
    expect(await thread.press("Answer…", { text: "how: x\ncount: many" }).result).toEqual({
      kind: "refused",
      reply: "count: expected a whole number.",
    });
    expect((await thread.press("Answer…", { text: "How: x" }).result).kind).toBe("acted");
    await shows(chat, "Asked.");
    expect(await answer()).toEqual({ action: "accept", content: { how: "x" } });
  });

  test("is put into inputs, by that person alone, and what does not fit is said at its input", async () => {
    const options = [
      { value: "f", title: "Forever" },
      { value: "b", title: "To the bin" },
    ];
    const fields: InputField[] = [
      { ...field, kind: "one", options },
      { name: "count", title: "How many", kind: "integer", required: true, least: 1, default: "2" },
      { name: "urgent", title: "Urgent", kind: "yes-no", required: false, default: "yes" },
    ];
    const { chat, thread, first, answer } = await begin({ ...request, mode: "form", fields });
    await first.close();
    expect(await thread.press("Answer…", { by: bob }).result).toMatchObject({ kind: "refused" });
    expect(await thread.press("Answer…").result).toMatchObject({
      kind: "acted",
      form: { title: "notes asks", fields },
    });
    const put = { how: [1], count: "0", urgent: [] };
    expect(await thread.press("Answer…", { fields: put, by: bob }).result).toMatchObject({ kind: "refused" });
    expect(await thread.press("Answer…", { fields: put }).result).toEqual({
      kind: "refused",
      reply: "How many: expected a whole number of at least 1.",
      field: "count",
    });
    expect((await thread.press("Answer…", { fields: { ...put, count: "3" } }).result).kind).toBe("acted");
    await worker(chat, [{ text: "Asked again." }], { commands: [] });
    await shows(chat, "Asked again.");
    expect(await answer()).toEqual({ action: "accept", content: { how: "b", count: 3 } });
  });

  test("is asked for in parts where a window has fewer inputs, each judged at once, and none lost with a worker", async () => {
    const names = ["a", "b", "c", "d", "e"];
    const fields = names.map(
      (name): InputField => ({ name, title: name.toUpperCase(), kind: "integer", required: name < "e" }),
    );
    const { chat, thread, first, answer } = await begin({ ...request, mode: "form", fields });
    const window = { most: 2 };
    const rest = { ...window, continues: true } as const;
    const press = (about: Parameters<typeof thread.press>[1]) => thread.press("Answer…", about).result;
    const formOf = async (about: Parameters<typeof thread.press>[1]) => {
      const result = await press(about);
      const form = result.kind === "acted" ? result.form : undefined;
      return [form?.title, ...(form?.fields.map(({ name }) => name) ?? [])];
    };
    expect(await formOf({ window })).toEqual(["notes asks, 1 of 3", "a", "b"]);
    expect(await press({ window, fields: { a: "1", b: "x" } })).toEqual({
      ...{ kind: "refused", reply: "B: expected a whole number.", field: "b" },
    });
    expect(await press({ window, fields: { a: "1", b: "2" }, by: bob })).toMatchObject({ kind: "refused" });
    expect(await press({ window, fields: { a: "1", b: "2" } })).toMatchObject({
      ...{ kind: "acted", continues: true, reply: "Kept. 3 more fields are asked for." },
    });
    await first.close();
    expect(await formOf({ window: rest, by: bob })).toEqual([undefined]);
    expect(await formOf({ window: rest })).toEqual(["notes asks, 2 of 3", "c", "d"]);
    expect(await press({ window: rest, fields: { c: "3", d: "4" } })).toMatchObject({ continues: true });
    expect(await formOf({ window: rest })).toEqual(["notes asks, 3 of 3", "e"]);
    // Whoever begins anew is asked for all of it.
    expect(await formOf({ window })).toEqual(["notes asks, 1 of 3", "a", "b"]);
    expect((await press({ window: rest, fields: { e: "" } })).kind).toBe("acted");
    await worker(chat, [{ text: "Asked again." }], { commands: [] });
    await shows(chat, "Asked again.");
    expect(await answer()).toEqual({ action: "accept", content: { a: 1, b: 2, c: 3, d: 4 } });
    expect((await thread.redis.keys("*:form:*")).filter((key) => key.includes(thread.id))).toEqual([]);
  });

  test("is an address that is shown to that person alone, in full, or declined", async () => {
    const url = "https://pay.example/here?nonce=1";
    const { chat, thread, question, answer } = await begin({ ...request, mode: "url", url });
    expect(question.message.markdown).toContain("a page at `pay.example`");
    expect(JSON.stringify(question.message)).not.toContain("nonce");
    expect(await thread.press("Show the address", { by: bob }).result).toMatchObject({ kind: "refused" });
    expect(await thread.press("Show the address").result).toMatchObject({
      kind: "acted",
      reply: expect.stringContaining(`at pay.example. Open it only if you trust that address:\n${url}\n`),
    });
    expect((await thread.press("Decline").result).kind).toBe("acted");
    await shows(chat, "Asked.");
    await shows(chat, "**Declined** by Ada.");
    expect(await answer()).toEqual({ action: "decline" });
  });
});

describe("A call that needs an approval", () => {
  test("is kept for as long as it can be approved, and its session after that", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    await worker(chat, [push], { commands: [] }, { questionMs: 3_600_000 });
    await thread.says("push it");
    await asked(chat);
    await parked(thread);
    expect(await thread.redis.ttl(keys.head(thread.id))).toBeGreaterThan(4_000);
  });

  test("is put to the thread and holds no worker until it is approved, then runs once", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    const { requests } = await worker(chat, [push, { text: "Other thread." }, { text: "Pushed." }], runs);
    await thread.says("push it");
    const question = await asked(chat);
    expect(question.message).toMatchObject({ kind: "question", stoppable: true });
    expect(question.message.markdown).toContain("make && git push");
    expect(question.message.markdown).toContain("Pushes are public.");
    expect(buttonsOf(question)).toEqual([
      "Approve",
      "Approve for this thread",
      "Deny",
      "Deny with a reason…",
    ]);
    await parked(thread);
    // The worker takes one turn at a time, and it takes another.
    await people(chat).says("and you?", bob);
    await shows(chat, "Other thread.");
    expect(runs.commands).toEqual([]);

    expect((await thread.press("Approve").result).kind).toBe("acted");
    await shows(chat, "Pushed.");
    expect(runs.commands).toEqual(["make && git push"]);
    expect(requests[2]?.messages.at(-1)).toMatchObject({ role: "tool", status: "ok" });
    const { message } = await shows(chat, "**Approved** by Ada");
    expect(message.actions).toBeUndefined();
    expect(thread.audits).toMatchObject([
      { action: "decided", by: { id: "U1" }, decision: { kind: "approved" } },
    ]);
  });

  test("is not run when it is denied, and the model reads by whom and why", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    const { requests } = await worker(chat, [push, { text: "Not pushed." }], runs);
    await thread.says("push it");
    await asked(chat);
    await thread.press("Deny with a reason…", { text: "Tests are red." }).result;
    await shows(chat, "Not pushed.");
    await shows(chat, "**Denied** by Ada: Tests are red.");
    expect(requests[1]?.messages.at(-1)).toMatchObject({
      role: "tool",
      status: "error",
      text: expect.stringMatching(/DENIED by Ada.*Tests are red\./),
    });
    expect(runs.commands).toEqual([]);
  });

  test("survives the restart of the worker, before and after the decision", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    const first = await worker(chat, [push], runs);
    await thread.says("push it");
    await asked(chat);
    await first.close();
    // Nobody works at this moment.
    expect((await thread.press("Approve").result).kind).toBe("acted");
    expect(runs.commands).toEqual([]);
    await worker(chat, [{ text: "Pushed." }], runs);
    await shows(chat, "Pushed.");
    expect(runs.commands).toEqual(["make && git push"]);
    expect(chat.shown.filter(({ message }) => message.kind === "question")).toHaveLength(1);
  });

  test("is not run twice when the worker dies after the approval, and its outcome is told as unknown", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const died = Promise.withResolvers<void>();
    const forever = new Promise<void>(() => {});
    const runs: Runs = { commands: [], during: () => (died.resolve(), forever) };
    const first = await worker(chat, [push], runs, { lockMs: 1_000 });
    await thread.says("push it");
    await asked(chat);
    await thread.press("Approve").result;
    await died.promise;
    // As if another worker had been given the job of a dead one.
    await thread.redis.hincrby(keys.head(thread.id), "epoch", 1);
    void first.close();
    const second: Runs = { commands: [] };
    const { requests } = await worker(chat, [{ text: "I look." }], second, { lockMs: 1_000 });
    await shows(chat, "I look.");
    expect([runs.commands.length, second.commands.length]).toEqual([1, 0]);
    expect(requests[0]?.messages.at(-1)).toMatchObject({ role: "tool", status: "unknown" });
  });

  test("runs when the worker died between the decision on record and the run", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    const first = await worker(chat, [push], runs);
    await thread.says("push it");
    await asked(chat);
    await parked(thread);
    await first.close();
    await thread.press("Approve").result;
    // What a worker writes before it runs the call.
    const journal = await readJournal(thread.redis, thread.id);
    const question = journal.flatMap((record) => (record.type === "question" ? [record.question.id] : []))[0];
    const by = { id: ada.id, name: ada.name };
    const record = { type: "decision", question, decision: { kind: "approved", by, at: 1 }, at: Date.now() };
    await thread.redis.rpush(keys.log(thread.id), JSON.stringify(record));
    await thread.redis.hdel(keys.head(thread.id), `question:${question}`, `decision:${question}`);
    await worker(chat, [{ text: "Pushed." }], runs);
    await shows(chat, "Pushed.");
    expect(runs.commands).toEqual(["make && git push"]);
  });

  test("counts as denied when nobody answers in time", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    const { requests } = await worker(chat, [push, { text: "Left it." }], runs, {
      questionMs: 300,
      sweepMs: 50,
    });
    await thread.says("push it");
    await shows(chat, "Left it.");
    await shows(chat, "Nobody answered in time.");
    expect(requests[1]?.messages.at(-1)).toMatchObject({
      status: "error",
      text: expect.stringContaining("in time"),
    });
    expect(runs.commands).toEqual([]);
  });

  test.each([
    ["press comes first", ["acted", "approved"]],
    ["time is over first", ["refused", "expired"]],
  ])("has one end when both come at the same moment and the %s", async (order, [told, recorded]) => {
    const chat = memoryChat();
    const thread = people(chat);
    const first = await worker(chat, [push], { commands: [] });
    await thread.says("push it");
    await asked(chat);
    await parked(thread);
    await first.close();
    // Or the worker of another test would go on with it.
    closers.push(async () => void (await thread.redis.flushall()));
    const { open } = replay(await readJournal(thread.redis, thread.id));
    // By the worker's clock. That of the gateway is behind it.
    const expiresAt = open[0]?.question?.expiresAt ?? 0;
    const expire = () =>
      collectDecisions(thread.redis, thread.id, open, () => ({ kind: "notice", markdown: "" }), expiresAt);
    const press = () => thread.press("Approve").result;
    if (order.startsWith("time")) await expire();
    const result = await press();
    expect(result.kind).toBe(told);
    if (result.kind === "refused") expect(result.reply).toBe("The time to decide this is over.");
    expect((await expire()).records).toMatchObject([{ type: "decision", decision: { kind: recorded } }]);
  });

  test("is decided by nobody but the one whose task it is and those who may approve", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    await worker(chat, [push, { text: "Pushed." }], runs);
    await thread.says("push it");
    await asked(chat);
    await parked(thread);
    expect(await thread.press("Approve", { by: bob }).result).toMatchObject({
      kind: "refused",
      reply: expect.stringContaining("Ada"),
    });
    expect((await thread.press("Approve", { by: { ...ada, standing: "guest" } }).result).kind).toBe(
      "refused",
    );
    expect(await asked(chat)).toBeDefined();
    expect((await thread.press("Approve", { by: root }).result).kind).toBe("acted");
    await shows(chat, "**Approved** by Root");
    await shows(chat, "Pushed.");
    expect(thread.audits.map(({ action, by }) => `${action} ${by.name}`)).toEqual([
      "refused Bob",
      "decided Root",
    ]);
  });

  test("is decided once: the first valid press holds, and the same press told twice is a duplicate", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    const first = await worker(chat, [push], runs);
    await thread.says("push it");
    await asked(chat);
    await parked(thread);
    await first.close();
    const early = thread.press("Approve");
    const late = thread.press("Deny", { by: root });
    const again = thread.intake.receive(early.event);
    expect((await Promise.all([early.result, late.result, again])).map(({ kind }) => kind)).toEqual([
      "acted",
      "refused",
      "duplicate",
    ]);
    await worker(chat, [{ text: "Pushed." }], runs);
    await shows(chat, "Pushed.");
    expect(await thread.intake.receive(late.event)).toMatchObject({
      kind: "refused",
      reply: expect.stringContaining("settled"),
    });
    expect(runs.commands).toHaveLength(1);
  });

  test("is not run after a stop, which ends the turn while it waits", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    await worker(chat, [push, { text: "New turn." }], runs);
    await thread.says("push it");
    const { ref } = await asked(chat);
    await parked(thread);
    // As by 🛑 on the question.
    expect((await thread.stops(ref)).kind).toBe("stopping");
    await shows(chat, "Stopped by Bob");
    const { message } = await shows(chat, "No longer needed.");
    expect(message.actions).toBeUndefined();
    const journal = await readJournal(thread.redis, thread.id);
    expect(journal.filter(({ type }) => type === "tool-result")).toMatchObject([
      { message: { status: "stopped" } },
    ]);
    await thread.says("and now?");
    await shows(chat, "New turn.");
    expect(runs.commands).toEqual([]);
  });

  /** Of a turn that waits for people: what its stop leaves, once it was told. */
  const expectStopped = async (chat: Chat, thread: ReturnType<typeof people>, by: string) => {
    const { message: receipt } = await shows(chat, `Stopped by ${by}`);
    expect(receipt.markdown).toMatch(/ in \d+.*No command was running\. What was written so far is kept\.$/);
    expect((await shows(chat, "No longer needed.")).message.actions).toBeUndefined();
    await chat.until(() => chat.marks.get(`${thread.ref.thread}-1`)?.at(-1) === "stopped");
    const journal = await readJournal(thread.redis, thread.id);
    const results = journal.filter(({ type }) => type === "tool-result");
    expect(results).toMatchObject([{ message: { status: "stopped" } }]);
    // Nothing is left to do there, now or when the question would have expired.
    await expect.poll(() => thread.redis.zscore(keys.waiting, thread.id), { interval: 5 }).toBeNull();
    expect(thread.problems).toEqual([]);
    expect(chat.shown.filter(({ message }) => message.markdown.includes("Stopped by"))).toHaveLength(1);
  };

  test.for<[string, (thread: ReturnType<typeof people>, asked: MessageRef) => Promise<unknown>, string]>([
    ["a stop", (thread, question) => thread.stops(question), "Bob"],
    ["two stops", (thread, question) => Promise.all([thread.stops(question), thread.stops(question)]), "Bob"],
    [
      "the deletion of its message",
      ({ intake, ref: thread }, question) => {
        const ref = { ...question, message: `${thread.thread}-1` };
        return intake.receive({ kind: "delete", thread, ref, author: ada, at: Date.now() });
      },
      "Ada, who deleted the message",
    ],
  ])("is ended at once by %s while another turn has the only slot and worker", async ([, end, by]) => {
    const chat = memoryChat();
    const thread = people(chat);
    const started = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const runs: Runs = { commands: [], during: () => (started.resolve(), release.promise) };
    const make = { calls: [{ name: "bash", input: { command: "make" } }] };
    const { requests } = await worker(chat, [push, make, { text: "Made." }, { text: "New turn." }], runs, {
      total: 1,
    });
    await thread.says("push it");
    const { ref } = await asked(chat);
    await parked(thread);
    await people(chat).says("make it", bob);
    await started.promise;
    await end(thread, ref);
    await expectStopped(chat, thread, by);
    expect(requests).toHaveLength(2);
    release.resolve();
    await shows(chat, "Made.");
    await thread.says("and now?");
    await shows(chat, "New turn.");
    expect(runs.commands).toEqual(["make"]);
  });

  test("is ended by a stop with no worker alive, which leaves a later message to a turn", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    const first = await worker(chat, [push], runs);
    await thread.says("push it");
    const { ref } = await asked(chat);
    await parked(thread);
    await first.close();
    const at = Date.now();
    await thread.says("before", bob);
    await expect.poll(() => Date.now()).toBeGreaterThan(at + 1);
    await thread.stops(ref);
    const { message } = await shows(chat, "Stopped by Bob");
    expect(message.markdown).toContain("1 waiting message dropped");
    await thread.says("after");
    const { requests } = await worker(chat, [{ text: "New turn." }], runs);
    await shows(chat, "New turn.");
    expect(requests).toHaveLength(1);
    expect(requests[0]?.messages.at(-1)).toMatchObject({ text: "after" });
    expect(chat.shown.filter(({ message: { markdown } }) => markdown.includes("Stopped by"))).toHaveLength(1);
    expect(runs.commands).toEqual([]);
  });

  test("is not run when the message that asked for the work is deleted meanwhile", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    await worker(chat, [push], runs);
    const ref = await thread.says("push it");
    await asked(chat);
    await parked(thread);
    await thread.intake.receive({ kind: "delete", thread: thread.ref, ref, author: ada, at: Date.now() });
    await shows(chat, "Stopped by Ada, who deleted the message");
    expect(runs.commands).toEqual([]);
  });

  test("stays as it is when somebody writes meanwhile; the message is read after the decision", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    const { requests } = await worker(chat, [push, { text: "Pushed." }], runs);
    await thread.says("push it");
    await asked(chat);
    for (const text of ["one", "two", "three", "four", "five"]) {
      await thread.says(text);
      await parked(thread);
    }
    expect(runs.commands).toEqual([]);
    await thread.press("Approve").result;
    await shows(chat, "Pushed.");
    const last = requests[1]?.messages.slice(-6).map((m) => (m.role === "user" ? m.text : m.role));
    expect(last).toEqual(["tool", "one", "two", "three", "four", "five"]);
  });

  test("is not even asked for when the rules deny it", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    const remove: Reply = { calls: [{ name: "bash", input: { command: "cd x; rm -rf *" } }] };
    const { requests } = await worker(chat, [remove, { text: "Denied." }], runs);
    await thread.says("clean up");
    await shows(chat, "Denied.");
    expect(requests[1]?.messages.at(-1)).toMatchObject({
      text: expect.stringContaining("Nothing is removed here."),
    });
    expect(runs.commands).toEqual([]);
  });

  test("in one step with others is asked for together with them, and all keep their order", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    const commands = ["make", "git push one", "make test", "git push two"];
    const calls = commands.map((command) => ({ name: "bash", input: { command } }));
    const { requests } = await worker(chat, [{ calls }, { text: "All done." }], runs);
    await thread.says("push both");
    await chat.until(() => chat.shown.filter(({ message }) => message.actions).length === 2);
    await parked(thread);
    expect(runs.commands).toEqual(["make"]);
    await thread.press("Approve").result;
    await shows(chat, "**Approved** by Ada");
    await parked(thread);
    expect(runs.commands).toEqual(["make", "git push one", "make test"]);
    await thread.press("Deny").result;
    await shows(chat, "All done.");
    expect(runs.commands).toHaveLength(3);
    const results = requests[1]?.messages.slice(-4).map((m) => (m.role === "tool" ? m.status : m.role));
    expect(results).toEqual(["ok", "ok", "ok", "error"]);
  });
});

describe("An approval for the thread", () => {
  const pushing = (...places: string[]): Reply => ({
    calls: places.map((place) => ({ name: "bash", input: { command: `git push ${place}` } })),
  });

  test("holds for later calls of its rule in that thread, is audited, and can be taken back", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    const replies = ["one", "two", "three"].flatMap((place) => [pushing(place), { text: `Done ${place}.` }]);
    await worker(chat, replies, runs);
    await thread.says("push it");
    const question = await asked(chat);
    expect(question.message.markdown).toContain("from now on, `git push*` runs here without asking.");
    expect((await thread.press("Approve for this thread", { by: bob }).result).kind).toBe("refused");
    expect((await thread.press("Approve for this thread").result).kind).toBe("acted");
    await shows(chat, "Done one.");
    await shows(chat, "**Approved for this thread** by Ada");
    await thread.says("push it again");
    await shows(chat, "Done two.");
    expect(runs.commands).toEqual(["git push one", "git push two"]);

    await thread.commands("!approvals", bob);
    await shows(chat, "- `git push*`, by Ada, just now");
    await thread.commands("!approvals clear", bob);
    await shows(chat, "No longer approved");
    await thread.says("push it once more");
    await asked(chat);
    await parked(thread);
    expect(runs.commands).toHaveLength(2);
    await thread.commands("!approvals", bob);
    await shows(chat, "**Waits for a decision**\n\n- May I run `bash`? · Ada, just now");
    await shows(chat, "Nothing is approved for this whole thread");
    expect(thread.audits.map(toAuditFact)).toMatchObject([
      { what: "decision-refused", rules: ["git push*"], by: { id: "U2" } },
      { what: "decided", decision: "approved", rules: ["git push*"], by: { id: "U1" } },
      { what: "approvals-cleared", rules: ["git push*"], by: { id: "U2" } },
    ]);
  });

  test("is for no other thread, and for no call that another rule denies", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    const removing: Reply = { calls: [{ name: "bash", input: { command: "git push && rm x" } }] };
    await worker(chat, [pushing("one"), removing, { text: "Done." }, pushing("two")], runs);
    await thread.says("push it");
    await asked(chat);
    await thread.press("Approve for this thread").result;
    await shows(chat, "Done.");
    const other = people(chat);
    await other.says("and here?");
    await asked(chat);
    await parked(other);
    expect(runs.commands).toEqual(["git push one"]);
  });

  test("answers what waits already, but not what was denied before", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    await worker(chat, [pushing("one", "two", "three"), { text: "All done." }], runs);
    await thread.says("push all");
    await chat.until(() => chat.shown.filter(({ message }) => message.actions).length === 3);
    await parked(thread);
    await thread.press("Deny").result;
    await shows(chat, "**Denied** by Ada");
    await parked(thread);
    await thread.press("Approve for this thread").result;
    await shows(chat, "All done.");
    expect(runs.commands).toEqual(["git push two", "git push three"]);
    const approved = ({ message }: Shown) => message.markdown.includes("**Approved for this thread** by Ada");
    await chat.until(() => chat.shown.filter(approved).length === 2);
  });

  test("cannot be given for a call that is to be approved by itself", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    const deploying: Reply = { calls: [{ name: "bash", input: { command: "deploy --now" } }] };
    await worker(chat, [deploying, { text: "Deployed." }], runs);
    await thread.says("deploy it");
    expect(buttonsOf(await asked(chat))).toEqual(["Approve", "Deny", "Deny with a reason…"]);
    await parked(thread);
    const forged = await thread.press("Approve", { as: "approve-thread" }).result;
    expect(forged).toMatchObject({ kind: "refused" });
    expect(runs.commands).toEqual([]);
    await thread.press("Approve").result;
    await shows(chat, "Deployed.");
  });
});

test.each(["gone", "forbidden", "rejected"] as const)(
  "A question that the platform refuses as %s is not waited for: the turn goes on without the call",
  async (kind) => {
    const chat = memoryChat();
    const thread = people(chat);
    const runs: Runs = { commands: [] };
    chat.failNext(new SurfaceError(kind, "No questions here."));
    const { requests } = await worker(chat, [push, { text: "Left it." }], runs);
    await thread.says("push it");
    await shows(chat, "Left it.");
    expect(requests[1]?.messages.at(-1)).toMatchObject({
      role: "tool",
      status: "error",
      text: expect.stringContaining("could not be asked, so it was not run: No questions here."),
    });
    expect(runs.commands).toEqual([]);
  },
);

test("While a turn waits for people, its message says so, and what comes meanwhile that it waits; then both go on", async () => {
  const chat = memoryChat();
  const thread = people(chat);
  await worker(chat, [push, { text: "Both done." }], { commands: [] });
  const first = await thread.says("push it");
  await asked(chat);
  const second = await thread.says("and then?");
  await parked(thread);
  const markOf = ({ message }: MessageRef) => chat.marks.get(message)?.at(-1);
  await chat.until(() => markOf(first) === "paused" && markOf(second) === "waiting");
  await thread.press("Approve").result;
  await chat.until(() => markOf(first) === "answered" && markOf(second) === "answered");
  const marksOfFirst = [...(chat.marks.get(first.message) ?? [])];
  expect(marksOfFirst.slice(0, 3)).toEqual(["taken", "paused", "taken"]);
});

describe("A question of the agent", () => {
  test("is answered by a button", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const { requests } = await worker(chat, [ask, { text: "Blue it is." }], { commands: [] });
    await thread.says("paint it");
    expect(buttonsOf(await asked(chat))).toEqual(["Red", "Blue"]);
    expect((await thread.press("Blue", { by: bob }).result).kind).toBe("refused");
    await thread.press("Blue").result;
    await shows(chat, "Blue it is.");
    await shows(chat, "Ada: **Blue**");
    expect(requests[1]?.messages.at(-1)).toMatchObject({
      role: "tool",
      status: "ok",
      text: "Ada answered: Blue",
    });
  });

  test("is answered by what the person writes, and by nobody else's words", async () => {
    const chat = memoryChat();
    const thread = people(chat);
    const { requests } = await worker(chat, [ask, { text: "Green it is." }], { commands: [] });
    await thread.says("paint it");
    await asked(chat);
    await parked(thread);
    await thread.says("I like red", bob);
    await parked(thread);
    expect(requests).toHaveLength(1);
    await thread.says("green, please");
    await shows(chat, "Green it is.");
    await shows(chat, "Ada answered below.");
    expect(requests[1]?.messages.slice(-3)).toMatchObject([
      { role: "tool", status: "ok" },
      { role: "user", text: "I like red" },
      { role: "user", text: "green, please" },
    ]);
  });
});
