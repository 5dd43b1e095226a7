import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { createContextWindow } from "../../../src/agent/context/compaction.ts";
import { createTokenCounter } from "../../../src/agent/context/tokens.ts";
import type { JournalRecord } from "../../../src/agent/journal/journal.ts";
import { defaultTurnLimits, type TurnLimits } from "../../../src/agent/loop/limits.ts";
import { runTurn } from "../../../src/agent/loop/run-turn.ts";
import type { Message, UserMessage } from "../../../src/agent/messages.ts";
import { ModelError, noUsage } from "../../../src/agent/model.ts";
import { createMasker } from "../../../src/agent/secrets/mask-secrets.ts";
import { createDispatcher } from "../../../src/agent/tools/dispatch/dispatch.ts";
import { defineTool, type Tool } from "../../../src/agent/tools/tool.ts";
import { trackStops } from "../../../src/app/stop-tracking.ts";
import { createTurnEngine, createTurnOutput } from "../../../src/app/turns/turn-engine.ts";
import type { InboundEvent } from "../../../src/chat/inbound.ts";
import type { MessageMark } from "../../../src/chat/outbound.ts";
import { SurfaceError } from "../../../src/chat/surface.ts";
import { threadId } from "../../../src/chat/threads.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { createAccess } from "../../../src/intake/access.ts";
import { createIntake } from "../../../src/intake/intake.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { keys, queueName, queuePrefix } from "../../../src/queue/redis/keys.ts";
import { readJournal } from "../../../src/queue/session/journal/journal.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { deleteMessage, editMessage } from "../../../src/queue/session/mailbox/message-changes.ts";
import { createRedisNotes } from "../../../src/queue/session/notes.ts";
import { createOverview } from "../../../src/queue/session/lists/overview.ts";
import { readSessionStatus } from "../../../src/queue/session/lists/sessions.ts";
import { noChanges, type TurnRunner } from "../../../src/queue/turns/contracts.ts";
import { countAhead, createSlots, type SlotLimits } from "../../../src/queue/turns/slots.ts";
import { createAfterStop, createEndUnheldThread } from "../../../src/queue/turns/end-unheld-thread.ts";
import { orderStop } from "../../../src/queue/turns/stops.ts";
import { startTurnWorker } from "../../../src/queue/turns/turn-worker.ts";
import { openTurnQueue } from "../../../src/queue/turns/wake-queue.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { offer } from "../../intake/model-offer.ts";
import { scriptedModel } from "../../fakes/scripted-model.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
  // What a closed worker has handed over is not for the next test's.
  await server.client().flushall();
});

let clock = 1_000_000;
/** The platform's clock: every event is later than the one before. */
const tick = () => ++clock;

type Chat = ReturnType<typeof memoryChat>;

const manySlots: SlotLimits = { perUser: 50, perChannel: 50, total: 50 };

function gateway(
  chat: Chat,
  options: { channel?: string; rules?: object; slots?: Partial<SlotLimits> } = {},
) {
  const { channel = "c", rules = {}, slots = {} } = options;
  const redis = server.client();
  const queue = openTurnQueue(redis);
  closers.push(() => queue.close());
  const problems: string[] = [];
  const onProblem = (problem: string) => problems.push(problem);
  const output = createRateLimiter(redis);
  const surface = () => chat.surface;
  const stopped = trackStops(
    createAfterStop({
      ...{ redis, queue, expireSeconds: 1_000 },
      ...createTurnOutput({ redis, output, surface, onProblem, onError: () => problems.push("live") }),
    }),
    onProblem,
  );
  closers.push(() => stopped.close());
  const intake = createIntake({
    afterStop: stopped.afterStop,
    access: createAccess(settingsSchema.parse({ access: rules }).access),
    models: () => offer("test/other"),
    skills: async () => [],
    prompts: async () => [],
    ahead: (place, person) => countAhead(redis, queue, { ...manySlots, ...slots }, place, person),
    status: async () => "",
    redis,
    queue,
    output,
    surface,
    budgets: { isOfToday: () => false, extend: async () => undefined },
    audit() {},
    now: Date.now,
    onProblem,
  });
  const thread = { platform: "memory", workspace: "w", channel, thread: randomUUID().slice(0, 8) };
  const author = { id: "U1", name: "Ada", standing: "member", roles: [] } as const;
  const says = (text: string, more: Partial<Extract<InboundEvent, { kind: "message" }>> = {}) => {
    const at = tick();
    const ref = { platform: "memory", workspace: "w", channel, message: `${thread.thread}-${at}` };
    const event: InboundEvent = {
      ...{
        kind: "message",
        thread,
        ref,
        author: { ...author, roles: [] },
        text,
        attachments: [],
        addressed: "mention",
        at,
      },
      ...more,
    };
    return intake.receive(event).then((result) => ({ result, event }));
  };
  const stops = (at = tick(), by = "Bob") =>
    intake.receive({ kind: "stop", target: { thread }, author: { ...author, roles: [], name: by }, at });
  const amends = (kind: "edit" | "delete", event: InboundEvent, text = "", at = tick()) => {
    if (event.kind !== "message") throw new Error("Only messages can be edited.");
    const about = { thread, ref: event.ref, author: { ...author, roles: [] }, at };
    return intake.receive(kind === "edit" ? { kind, ...about, text } : { kind, ...about });
  };
  return { redis, queue, intake, thread, says, stops, amends };
}

async function worker(
  chat: Chat,
  options: {
    replies: Parameters<typeof scriptedModel>[0];
    tools?: Tool[];
    lockMs?: number;
    slots?: Partial<SlotLimits>;
    concurrency?: number;
    fileChanges?: TurnRunner["fileChanges"];
    forgetTurn?: TurnRunner["forgetTurn"];
    killAll?: TurnRunner["killAll"];
    limits?: TurnLimits;
    /** Saves the files of a turn. */
    save?(): Promise<void>;
  },
) {
  const redis = server.client();
  const queue = openTurnQueue(redis);
  const { model, requests } = scriptedModel(options.replies);
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const runner: TurnRunner = {
    async *run({ thread, turn, history, followUps, store, signal }) {
      const outcome = yield* runTurn({
        id: turn,
        history,
        model,
        system: "system",
        context: createContextWindow({ model, counter: createTokenCounter() }),
        limits: options.limits ?? defaultTurnLimits,
        tools: createDispatcher({
          tools: options.tools ?? [],
          services: {
            notes: createRedisNotes({ redis, thread, speakers: () => [], now: Date.now, onProblem: onError }),
            now: Date.now,
          },
          masker: createMasker([]),
          onError() {},
        }),
        followUps,
        signal,
        now: Date.now,
      });
      await store();
      await options.save?.();
      return outcome;
    },
    killAll: options.killAll ?? (async () => ({ commands: 1, processes: 2, survivors: 0 })),
    jobsLeft: () => undefined,
    fileChanges: options.fileChanges ?? (async () => ({ changed: ["a.txt"], deleted: ["b.txt"] })),
    forgetTurn: options.forgetTurn ?? (() => {}),
  };
  const engine = await createTurnEngine({
    ...{ redis, runner, onError },
    subscriber: server.client(),
    surface: () => chat.surface,
    output: createRateLimiter(redis),
    expireSeconds: 1_000,
    ...(options.lockMs && { confirmMs: options.lockMs / 3 }),
    onProblem: onError,
  });
  const running = await startTurnWorker({
    redis,
    queue,
    runSession: engine.runSession,
    endUnheldThread: engine.endUnheldThread,
    slots: createSlots(redis, { ...manySlots, ...options.slots }, onError),
    concurrency: options.concurrency ?? 10,
    lockMs: options.lockMs ?? 30_000,
    sweepMs: 60_000,
    onProblem: onError,
    onError,
  });
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= running
      .close()
      .then(() => Promise.all([engine.close(), queue.close()]))
      .then(() => {});
    return closed;
  };
  closers.push(close);
  return { requests, errors, close };
}

const textIn = (messages: readonly Message[]) =>
  messages.flatMap((message) => (message.role === "user" ? [message.text] : [])).join("+");

/** A tool that runs until it is aborted or told to go on. */
function waitingTool() {
  const started = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let runs = 0;
  const tool = defineTool({
    name: "wait",
    description: "wait",
    input: z.looseObject({}),
    effect: "write",
    async run(_input, { signal }) {
      runs += 1;
      started.resolve();
      const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      await Promise.race([release.promise, aborted]);
      return { status: signal.aborted ? "stopped" : "ok", text: "waited" };
    },
  });
  return { tool, started: started.promise, release: release.resolve, runs: () => runs };
}

/** The receipts of stops that a thread shows. */
const receipts = (chat: Chat) => chat.shown.filter(({ message }) => message.markdown.includes("Stopped by"));

const messageOf = (event: InboundEvent) => (event.kind === "message" ? event.ref.message : "");

const marked = (chat: Chat, event: InboundEvent, mark: MessageMark) =>
  chat.until(() => chat.marks.get(messageOf(event))?.at(-1) === mark);

const waitsAt = (chat: Chat, event: InboundEvent, place: number) =>
  chat.until(() => chat.places.get(messageOf(event)) === place);

const shows = (chat: Chat, kind: "progress" | "final", text: string) =>
  chat.until(() =>
    chat.shown.find(
      ({ message }) =>
        (message.kind === "progress") === (kind === "progress") && message.markdown.includes(text),
    ),
  );
const answer = (chat: Chat, text: string) => shows(chat, "final", text);

describe("A message", () => {
  test("is answered in its thread, marked on its way, and remembered in the next turn", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    const { requests } = await worker(chat, { replies: [{ text: "Hello Ada." }, { text: "You are Ada." }] });
    const { event } = await says("hi");
    await answer(chat, "Hello Ada.");
    if (event.kind === "message") {
      const { message } = event.ref;
      await chat.until(() => chat.marks.get(message)?.at(-1) === "answered");
    }
    await says("who am I?", { addressed: "follow-up" });
    await answer(chat, "You are Ada.");
    expect(requests[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  });

  test("costs what its turn and those before it have used, as the list of sessions tells", async () => {
    const chat = memoryChat();
    const { redis, says, thread } = gateway(chat);
    await worker(chat, { replies: [{ text: "First." }, { text: "Second." }] });
    await says("one");
    await answer(chat, "First.");
    await says("two");
    await answer(chat, "Second.");
    const line = await createOverview(redis).line(threadId(thread));
    expect(line).toMatchObject({ status: "idle", ended: "answered", cost: 0.02, text: "one" });
  });

  test("costs what its open turn has used so far, and nothing twice when that ends", async () => {
    const chat = memoryChat();
    const { redis, says, thread } = gateway(chat);
    const { tool, started, release } = waitingTool();
    await worker(chat, { replies: [{ calls: [{ name: "wait" }] }, { text: "Done." }], tools: [tool] });
    await says("wait for it");
    await started;
    const overview = createOverview(redis);
    expect(await overview.line(threadId(thread))).toMatchObject({ status: "running", cost: 0.01 });
    release();
    await answer(chat, "Done.");
    expect(await overview.line(threadId(thread))).toMatchObject({ status: "idle", cost: 0.02 });
  });

  test("that comes twice is answered once", async () => {
    const chat = memoryChat();
    const { intake, says } = gateway(chat);
    await worker(chat, { replies: [{ text: "Once." }, { text: "Twice!" }] });
    const { event } = await says("hi");
    expect(await intake.receive(event)).toEqual({ kind: "duplicate" });
    await answer(chat, "Once.");
    expect(await intake.receive(event)).toEqual({ kind: "duplicate" });
    await says("next");
    await answer(chat, "Twice!");
    expect(chat.shown.filter(({ message }) => message.kind === "answer")).toHaveLength(2);
  });

  test("after /quiet is answered without progress", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    const { tool, started, release } = waitingTool();
    const wait = { calls: [{ name: "wait" }] };
    await says("hi");
    expect((await says("/quiet", { addressed: "follow-up" })).result.kind).toBe("acted");
    await worker(chat, { replies: [wait, { text: "Done." }], tools: [tool] });
    await started;
    release();
    await answer(chat, "Done.");
    expect(chat.shown.map(({ message }) => message.kind)).not.toContain("progress");
  });

  test("without a text gets a hint and starts nothing", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    expect((await says("  ")).result.kind).toBe("refused");
    await answer(chat, "without a task");
  });

  test("of a guest is refused with a reason, and one of a bot is ignored", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    const guest = { id: "U2", name: "Gus", standing: "guest", roles: [] } as const;
    expect((await says("hi", { author: { ...guest, roles: [] } })).result.kind).toBe("refused");
    expect((await says("hi", { author: { ...guest, roles: [], standing: "bot" } })).result.kind).toBe(
      "ignored",
    );
  });

  test("of 40,000 characters and one with a special token arrive whole", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    const { requests } = await worker(chat, { replies: [{ text: "Read." }] });
    const text = `<|endoftext|>${"ä".repeat(40_000)}`;
    await says(text);
    await answer(chat, "Read.");
    expect(requests[0]?.messages[0]).toMatchObject({ text });
  });
});

test("A request that the model's service refused is marked as failed, and no later turn sees it", async () => {
  const chat = memoryChat();
  const { says } = gateway(chat);
  const replies = [{ text: "I will not.", stop: "refusal" as const }, { text: "Blue." }];
  const { requests } = await worker(chat, { replies });
  const { event } = await says("the forbidden thing");
  if (event.kind !== "message") throw new Error("It is a message.");
  await answer(chat, "will not see this request again");
  await chat.until(() => chat.marks.get(event.ref.message)?.at(-1) === "failed");
  await says("which colour?");
  await answer(chat, "Blue.");
  expect(textIn(requests[1]?.messages ?? [])).toMatch(/^\(Left out here: .*\+which colour\?$/);
});

describe("A stop", () => {
  test("ends a running tool, answers its call, and tells the figures", async () => {
    const chat = memoryChat();
    const { says, stops } = gateway(chat);
    const { tool, started } = waitingTool();
    await worker(chat, { replies: [{ calls: [{ name: "wait" }] }], tools: [tool] });
    await says("wait");
    await started;
    expect((await stops()).kind).toBe("stopping");
    const { message } = await answer(chat, "Stopped by Bob");
    expect(message.markdown).toContain("0 left alive");
    expect(message.footer).toContain("a.txt");
  });

  test("ends a model call", async () => {
    const chat = memoryChat();
    const { says, stops } = gateway(chat);
    await worker(chat, { replies: [{ hang: "I am thinking about this" }] });
    await says("think");
    await shows(chat, "progress", "I am thinking");
    await stops();
    await answer(chat, "Stopped by Bob");
  });

  test("before any worker has come drops what waits, and only that", async () => {
    const chat = memoryChat();
    const { says, stops } = gateway(chat);
    await says("old");
    expect((await stops()).kind).toBe("stopping");
    await says("new");
    const { requests } = await worker(chat, { replies: [{ text: "Did the new." }] });
    await answer(chat, "1 waiting message dropped");
    await answer(chat, "Did the new.");
    expect(requests[0]?.messages).toMatchObject([{ text: "new" }]);
  });

  test("of a message that waits is told at once while no worker is alive, and no model is asked", async () => {
    const chat = memoryChat();
    const { says, stops, queue } = gateway(chat);
    const { event } = await says("old");
    await stops();
    await answer(chat, "1 waiting message dropped");
    await marked(chat, event, "stopped");
    // The line is free of it for those behind.
    await vi.waitFor(async () => expect((await queue.depth()).waiting).toBe(0));
    const { requests } = await worker(chat, { replies: [{ text: "Did the new." }] });
    await says("new");
    await answer(chat, "Did the new.");
    expect(requests).toHaveLength(1);
    expect(receipts(chat)).toHaveLength(1);
  });

  test.for<[string, { slots?: Partial<SlotLimits>; concurrency?: number }]>([
    ["a person", { slots: { perUser: 1 } }],
    ["a channel", { slots: { perChannel: 1 } }],
    ["all workers", { slots: { total: 1 } }],
    ["a worker", { concurrency: 1 }],
  ])("of a message that waits is told at once while the slots of %s are taken", async ([, limits]) => {
    const chat = memoryChat();
    const running = gateway(chat, limits);
    const stopped = gateway(chat, limits);
    const behind = gateway(chat, limits);
    const { tool, started, release } = waitingTool();
    const { requests } = await worker(chat, {
      replies: [{ calls: [{ name: "wait" }] }, { text: "Did one." }, { text: "Did three." }],
      tools: [tool],
      ...limits,
    });
    await running.says("one");
    await started;
    const { event } = await stopped.says("two");
    const third = await behind.says("three");
    await waitsAt(chat, third.event, 2);
    await stopped.stops();
    await answer(chat, "1 waiting message dropped");
    await marked(chat, event, "stopped");
    await waitsAt(chat, third.event, 1);
    expect(requests).toHaveLength(1);
    release();
    await answer(chat, "Did three.");
    expect(requests.map(({ messages }) => textIn(messages))).not.toContain("two");
    expect(receipts(chat)).toHaveLength(1);
  });

  test("of a message that waits leaves what was written after it to a turn", async () => {
    const chat = memoryChat();
    const { says, stops } = gateway(chat);
    await says("old");
    const at = tick();
    await says("new", { addressed: "follow-up" });
    await Promise.all([stops(at), stops(at), stops(at, "Eve")]);
    await answer(chat, "1 waiting message dropped");
    const { requests } = await worker(chat, { replies: [{ text: "Did the new." }] });
    await answer(chat, "Did the new.");
    expect(requests.map(({ messages }) => textIn(messages))).toEqual(["new"]);
    expect(receipts(chat)).toHaveLength(1);
  });

  test("of a turn that was handed over is told while no worker is alive, and the next message is answered", async () => {
    const chat = memoryChat();
    const { says, stops, redis, thread } = gateway(chat);
    const { tool, started } = waitingTool();
    const first = await worker(chat, { replies: [{ calls: [{ name: "wait" }] }], tools: [tool] });
    const { event } = await says("wait");
    await started;
    await first.close();
    await Promise.all([stops(), stops()]);
    const { message } = await answer(chat, "Stopped by Bob");
    expect(message.markdown).toContain("No command was running.");
    expect(message.footer).toContain("1 step");
    await marked(chat, event, "stopped");
    const second = await worker(chat, { replies: [{ text: "Did the new." }] });
    await says("new");
    await answer(chat, "Did the new.");
    expect(receipts(chat)).toHaveLength(1);
    expect(second.requests).toHaveLength(1);
    const journal = await readJournal(redis, threadId(thread));
    expect(journal.filter(({ type }) => type === "turn-end")).toHaveLength(2);
  });

  test("of the very moment of the message stops its turn", async () => {
    const chat = memoryChat();
    const { says, stops } = gateway(chat);
    const { tool, started } = waitingTool();
    await worker(chat, { replies: [{ calls: [{ name: "wait" }] }], tools: [tool] });
    const { event } = await says("wait");
    await started;
    await stops(event.at);
    await answer(chat, "Stopped by Bob");
  });

  test("that is older than the turn does not touch it", async () => {
    const chat = memoryChat();
    const { says, stops } = gateway(chat);
    const { tool, started, release } = waitingTool();
    await worker(chat, { replies: [{ calls: [{ name: "wait" }] }, { text: "Finished." }], tools: [tool] });
    const late = tick();
    await says("wait");
    await started;
    await stops(late);
    release();
    await answer(chat, "Finished.");
  });

  test("that comes late ends what is older, and the newer message is done in a turn of its own", async () => {
    const chat = memoryChat();
    const { says, stops, redis, thread } = gateway(chat);
    const first = waitingTool();
    const second = waitingTool();
    const { requests } = await worker(chat, {
      replies: [{ calls: [{ name: "wait" }] }, { calls: [{ name: "wait2" }] }, { text: "Did new." }],
      tools: [first.tool, { ...second.tool, name: "wait2" }],
    });
    const older = await says("old");
    await first.started;
    const late = tick();
    const newer = await says("new", { addressed: "follow-up" });
    first.release();
    // By now the turn has taken the newer message along.
    await second.started;
    expect((await stops(late)).kind).toBe("stopping");
    await answer(chat, "Stopped by Bob");
    await answer(chat, "Did new.");
    const markOf = ({ event }: typeof older) =>
      event.kind === "message" ? chat.marks.get(event.ref.message)?.at(-1) : undefined;
    // The marks of one turn may come later than the next turn.
    await chat.until(() => markOf(newer) === "answered" && markOf(older) === "stopped");
    expect(requests).toHaveLength(3);
    expect((await readJournal(redis, threadId(thread))).map(({ type }) => type).slice(-6)).toEqual([
      ...["tool-result", "turn-end", "turn-start", "user", "assistant", "turn-end"],
    ]);
  });

  test("that comes late leaves the new turn nothing of the stopped message, and no work once its own is deleted", async () => {
    const chat = memoryChat();
    const { says, stops, redis, thread } = gateway(chat);
    const tools = ["wait1", "wait2", "wait3"].map((name) => ({ name, ...waitingTool() }));
    const [first, second, third] = tools;
    await worker(chat, {
      replies: tools.map(({ name }) => ({ calls: [{ name }] })),
      tools: tools.map(({ name, tool }) => ({ ...tool, name })),
    });
    const older = await says("old");
    await first?.started;
    const late = tick();
    const newer = await says("new", { addressed: "follow-up" });
    first?.release();
    await second?.started;
    await stops(late);
    await third?.started;
    const id = threadId(thread);
    const change = ({ event }: typeof older) => ({
      message: event.kind === "message" ? event.ref.message : "",
      author: { id: "U1", name: "Ada" },
      at: tick(),
    });
    expect(await editMessage(redis, id, { ...change(older), text: "older still" })).toBe("too-late");
    expect(await deleteMessage(redis, id, change(older))).toBe("too-late");
    expect(await deleteMessage(redis, id, change(newer))).toBe("stopping");
    await answer(chat, "Stopped by Ada, who deleted the message");
  });

  test("by two people and told twice is one stop, with one receipt", async () => {
    const chat = memoryChat();
    const { says, stops } = gateway(chat);
    const { tool, started } = waitingTool();
    await worker(chat, { replies: [{ calls: [{ name: "wait" }] }, { text: "Next." }], tools: [tool] });
    await says("wait");
    await started;
    const [at, later] = [tick(), tick()];
    const verdicts = await Promise.all([stops(at), stops(at), stops(later, "Eve")]);
    expect(verdicts[0]?.kind).toBe("stopping");
    await answer(chat, "Stopped by");
    await says("next");
    await answer(chat, "Next.");
    expect(chat.shown.filter(({ message }) => message.markdown.includes("Stopped by"))).toHaveLength(1);
  });

  test("after the end stops nothing, also when it is older than the next message", async () => {
    const chat = memoryChat();
    const { says, stops } = gateway(chat);
    await worker(chat, { replies: [{ text: "One." }, { text: "Two." }] });
    const { event } = await says("one");
    if (event.kind !== "message") throw new Error("Only messages are said.");
    await chat.until(() => chat.marks.get(event.ref.message)?.at(-1) === "answered");
    expect((await stops()).kind).toBe("ignored");
    await says("two");
    await answer(chat, "Two.");
    expect(chat.shown.some(({ message }) => message.markdown.includes("Stopped"))).toBe(false);
  });

  test("by the word alone works, and inside a sentence does not", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    const { tool, started } = waitingTool();
    await worker(chat, { replies: [{ calls: [{ name: "wait" }] }, { text: "?" }], tools: [tool] });
    await says("wait");
    await started;
    expect((await says("don't stop until it works", { addressed: "follow-up" })).result.kind).toBe(
      "accepted",
    );
    expect((await says(" Stop! ", { addressed: "follow-up" })).result.kind).toBe("stopping");
    await answer(chat, "Stopped by Ada");
  });

  test("with nothing to stop says so and stops nothing later", async () => {
    const chat = memoryChat();
    const { says, stops } = gateway(chat);
    expect((await stops()).kind).toBe("ignored");
    await says("stop");
    await answer(chat, "Nothing is running");
    await worker(chat, { replies: [{ text: "Hello." }] });
    await says("hi");
    await answer(chat, "Hello.");
  });
});

describe("A turn that was scheduled", () => {
  const due = (at = tick()): UserMessage => ({
    ...{ role: "user", id: `schedule-s1-${at}`, author: { id: "U1", name: "Ada" }, text: "look", at },
    scheduled: true,
  });

  test("is stopped like any other", async () => {
    const chat = memoryChat();
    const { redis, queue, thread, stops } = gateway(chat, { rules: { stop: "requester" } });
    const { tool, started } = waitingTool();
    await worker(chat, { replies: [{ calls: [{ name: "wait" }] }], tools: [tool] });
    await deliver(redis, threadId(thread), due(), { onlyIfSession: false, now: 1 });
    await queue.wake(threadId(thread));
    await started;
    expect((await stops()).kind).toBe("stopping");
    await answer(chat, "Stopped by Bob");
  });

  test("tells the thread when its model fails, and the next one comes as planned", async () => {
    const chat = memoryChat();
    const { redis, queue, thread } = gateway(chat);
    const error = new ModelError("transient", "The service is away.");
    await worker(chat, { replies: [{ error }, { text: "All is well." }] });
    for (const said of ["The service is away.", "All is well."]) {
      await deliver(redis, threadId(thread), due(), { onlyIfSession: false, now: 1 });
      await queue.wake(threadId(thread));
      await answer(chat, said);
    }
    // What was scheduled is no message of the platform's, so nothing is marked.
    expect(chat.marks.size).toBe(0);
  });
});

describe("An edit", () => {
  test("changes a message that waits", async () => {
    const chat = memoryChat();
    const { says, amends } = gateway(chat);
    const { event } = await says("use tabs");
    expect((await amends("edit", event, "use spaces")).kind).toBe("amended");
    const { requests } = await worker(chat, { replies: [{ text: "Done." }] });
    await answer(chat, "Done.");
    expect(requests[0]?.messages).toMatchObject([{ text: "use spaces" }]);
  });

  test("is passed on once as a correction while a turn works on the message", async () => {
    const chat = memoryChat();
    const { says, amends } = gateway(chat);
    const { tool, started, release } = waitingTool();
    const { requests } = await worker(chat, {
      replies: [{ calls: [{ name: "wait" }] }, { text: "Corrected." }],
      tools: [tool],
    });
    const { event } = await says("use tabs");
    await started;
    const at = tick();
    expect((await amends("edit", event, "use spaces", at)).kind).toBe("amended");
    expect((await amends("edit", event, "use spaces", at)).kind).toBe("amended");
    release();
    await answer(chat, "Corrected.");
    const corrections = requests[1]?.messages.filter(
      (m) => m.role === "user" && m.text.includes("use spaces"),
    );
    expect(corrections).toHaveLength(1);
    expect(corrections).toMatchObject([{ author: { name: "Ada" } }]);
  });

  test("of an answered message starts nothing", async () => {
    const chat = memoryChat();
    const { says, amends } = gateway(chat);
    await worker(chat, { replies: [{ text: "Done." }] });
    const { event } = await says("use tabs");
    await answer(chat, "Done.");
    expect((await amends("edit", event, "use spaces")).kind).toBe("ignored");
  });
});

describe("A deletion", () => {
  test("withdraws a message that waits", async () => {
    const chat = memoryChat();
    const { says, amends } = gateway(chat);
    const { event } = await says("first");
    await says("second");
    expect((await amends("delete", event)).kind).toBe("amended");
    const { requests } = await worker(chat, { replies: [{ text: "Done." }] });
    await answer(chat, "Done.");
    expect(requests[0]?.messages).toMatchObject([{ text: "second" }]);
  });

  test("of the only message that a turn works on stops the turn", async () => {
    const chat = memoryChat();
    const { says, amends } = gateway(chat);
    const { tool, started } = waitingTool();
    await worker(chat, { replies: [{ calls: [{ name: "wait" }] }], tools: [tool] });
    const { event } = await says("wait");
    await started;
    expect((await amends("delete", event)).kind).toBe("stopping");
    await answer(chat, "Stopped by Ada, who deleted the message");
  });

  test("of one of several messages is told to the turn, which goes on", async () => {
    const chat = memoryChat();
    const { says, amends } = gateway(chat);
    const first = await says("one");
    await says("two");
    const { tool, started, release } = waitingTool();
    const { requests } = await worker(chat, {
      replies: [{ calls: [{ name: "wait" }] }, { text: "Only two." }],
      tools: [tool],
    });
    await started;
    expect((await amends("delete", first.event)).kind).toBe("amended");
    release();
    await answer(chat, "Only two.");
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: "user", author: { id: "heddle" } });
  });
});

describe("A worker", () => {
  test("has all that came before a call in the journal when it runs, and writes twice a step", async () => {
    const chat = memoryChat();
    const { redis, says, thread } = gateway(chat);
    const id = threadId(thread);
    const seen: { journal: string[]; writes: number }[] = [];
    const look = defineTool({
      ...{ name: "look", description: "look", input: z.looseObject({}), effect: "read" },
      async run() {
        // Where the progress message is gets noted by a write of its own, at any time.
        if (seen.length === 1) await expect.poll(() => redis.hexists(keys.head(id), "progress")).toBe(1);
        const [, writes] = (await redis.hget(keys.head(id), "write"))?.split(".") ?? [];
        const journal = (await readJournal(redis, id)).map(({ type }) => type);
        seen.push({ journal, writes: Number(writes) });
        return { status: "ok", text: "seen" };
      },
    });
    const calls = { calls: [{ name: "look" }] };
    await worker(chat, { replies: [calls, calls, calls, { text: "Done." }], tools: [look] });
    await says("look three times");
    await answer(chat, "Done.");
    const first = ["turn-start", "user", "assistant", "tool-start"];
    const step = ["tool-result", "assistant", "tool-start"];
    expect(seen.map(({ journal }) => journal)).toEqual([
      first,
      [...first, ...step],
      [...first, ...step, ...step],
    ]);
    expect((seen[2]?.writes ?? 0) - (seen[1]?.writes ?? 0)).toBe(2);
  });

  test("has the result of a call in the journal before the files are saved, where a limit ends the turn behind it", async () => {
    const chat = memoryChat();
    const { redis, says, thread } = gateway(chat);
    const saved: string[][] = [];
    const { tool, release } = waitingTool();
    release();
    await worker(chat, {
      replies: [{ calls: [{ name: "wait" }] }],
      tools: [tool],
      limits: { ...defaultTurnLimits, tokens: 1 },
      save: async () => void saved.push((await readJournal(redis, threadId(thread))).map(({ type }) => type)),
    });
    await says("wait");
    await answer(chat, "Paused at the limit");
    expect(saved).toEqual([["turn-start", "user", "assistant", "tool-start", "tool-result"]]);
  });

  test("leaves a turn alone whose end it cannot read, and answers what comes next", async () => {
    const chat = memoryChat();
    const { redis, says, thread } = gateway(chat);
    const log = keys.log(threadId(thread));
    const first = await worker(chat, { replies: [{ text: "One." }] });
    await says("one");
    await answer(chat, "One.");
    await expect.poll(() => readSessionStatus(redis, threadId(thread))).toBe("idle");
    await first.close();
    // As a later Heddle may write it.
    await redis.lset(log, -1, JSON.stringify({ v: 2, type: "turn-end" }));
    const { requests } = await worker(chat, { replies: [{ text: "Two." }] });
    await says("two");
    await answer(chat, "Two.");
    expect(requests).toHaveLength(1);
    const types = (await readJournal(redis, threadId(thread))).map(({ type }) => type);
    const turn = ["turn-start", "user", "assistant"];
    expect(types).toEqual([...turn, "unreadable", ...turn, "turn-end"]);
  });

  test("reads no more of a long thread than the next turn needs, which sees what it saw before", async () => {
    const chat = memoryChat();
    const { redis, says, thread } = gateway(chat);
    const id = threadId(thread);
    const author = { id: "U1", name: "Ada" };
    const outcome = { kind: "answered", text: "", steps: 1, usage: noUsage } as const;
    const old = Array.from({ length: 200 }, (_, n): JournalRecord[] => [
      { type: "turn-start", turn: `t${n}`, at: n },
      { type: "user", message: { role: "user", id: `old${n}`, author, text: `Question ${n}?`, at: n } },
      { type: "turn-end", turn: `t${n}`, outcome, at: n },
    ]);
    await (await claimSession(redis, id)).append(old.flat());
    const { requests } = await worker(chat, { replies: [{ text: "One." }, { text: "Two." }] });
    await says("one");
    await answer(chat, "One.");
    await expect.poll(() => readSessionStatus(redis, id)).toBe("idle");
    await says("two");
    await answer(chat, "Two.");
    const [first, second] = requests.map(({ messages }) => messages);
    expect(first).toHaveLength(201);
    expect(second?.slice(0, 201)).toEqual(first);
    expect(second?.slice(201).map(({ role }) => role)).toEqual(["assistant", "user"]);

    await expect.poll(() => readSessionStatus(redis, id)).toBe("idle");
    const { found } = await claimSession(redis, id);
    expect(found.journal.length).toBe(608);
    expect(found.journal.records?.length).toBeLessThan(10);
  });

  test("looks through a long thread that has no snapshot once, however little it needs of it", async () => {
    const chat = memoryChat();
    const { redis, says, thread } = gateway(chat);
    const id = threadId(thread);
    const author = { id: "U1", name: "Ada" };
    const outcome = { kind: "answered", text: "", steps: 1, usage: noUsage } as const;
    const old = Array.from({ length: 1_700 }, (_, n): JournalRecord[] => [
      { type: "turn-start", turn: `t${n}`, at: n },
      { type: "user", message: { role: "user", id: `old${n}`, author, text: `Question ${n}?`, at: n } },
      { type: "turn-end", turn: `t${n}`, outcome, at: n },
    ]);
    const message = { role: "summary", text: "They have asked." } as const;
    const summary: JournalRecord = { type: "summary", message, keep: 1, usage: noUsage, at: 2_000 };
    await (await claimSession(redis, id)).append([...old.flat(), summary]);
    await worker(chat, { replies: [{ text: "One." }] });
    await says("one");
    await answer(chat, "One.");
    await expect.poll(() => readSessionStatus(redis, id)).toBe("idle");
    expect((await claimSession(redis, id)).found.journal.snapshot).toBeDefined();
  });

  test("is given no more where too much waits already, and the person is told so", async () => {
    const chat = memoryChat();
    const { redis, says, thread } = gateway(chat);
    await says("first");
    const waiting = await redis.lindex(keys.mail(threadId(thread)), 0);
    await redis.rpush(keys.mail(threadId(thread)), ...Array.from({ length: 999 }, () => waiting ?? ""));
    const { result } = await says("one too many");
    expect(result).toMatchObject({ kind: "refused", reply: expect.stringMatching(/^So many messages wait/) });
    expect(await redis.llen(keys.mail(threadId(thread)))).toBe(1_000);
  });

  test("that shuts down hands its turn over, and the next one repeats no call", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    const first = waitingTool();
    const { close } = await worker(chat, {
      replies: [{ calls: [{ name: "wait" }, { name: "wait" }] }],
      tools: [first.tool],
    });
    await says("wait");
    await first.started;
    await close();
    const second = waitingTool();
    second.release();
    const { requests } = await worker(chat, { replies: [{ text: "Went on." }], tools: [second.tool] });
    await answer(chat, "Went on.");
    // The interrupted call has an unknown outcome; the one that had not begun was run.
    expect([first.runs(), second.runs()]).toEqual([1, 1]);
    expect(requests[0]?.messages.slice(-2)).toMatchObject([{ status: "unknown" }, { status: "ok" }]);
  });

  test.each([
    ["tells of no result, and hands nothing over, before what it ran is dead", 0, 1],
    ["hands nothing over of which a part is still alive", 1, 0],
  ])("that shuts down %s", async (_rule, survivors, results) => {
    const chat = memoryChat();
    const { says, redis, thread } = gateway(chat);
    const started = Promise.withResolvers<void>();
    // One that does not hear of its end, and is given up after a second.
    const deaf = defineTool({
      name: "wait",
      description: "Waits.",
      input: z.object({}),
      effect: "write",
      run: () => (started.resolve(), new Promise<never>(() => undefined)),
    });
    const countResults = async () =>
      (await readJournal(redis, threadId(thread))).filter(({ type }) => type === "tool-result").length;
    let before: number | undefined;
    const { close, errors } = await worker(chat, {
      replies: [{ calls: [{ name: "wait" }] }],
      tools: [deaf],
      async killAll() {
        // Longer than a tool may take to say what it had done.
        await delay(2_000);
        before ??= await countResults();
        return { commands: 1, processes: 2, survivors };
      },
    });
    await says("wait");
    await started.promise;
    await close();
    expect(before).toBe(0);
    expect(await countResults()).toBe(results);
    expect(await redis.hget(keys.head(threadId(thread)), "handover")).toBe(String(results));
    expect(errors.map(String)).toEqual(
      survivors > 0 ? [expect.stringContaining("are alive after they were killed")] : [],
    );
  });

  test("that cannot look for the processes of a stopped turn fails that turn alone, and its receipt comes with the next try", async () => {
    const chat = memoryChat();
    const { says, stops } = gateway(chat);
    const started = Promise.withResolvers<void>();
    const slow = defineTool({
      name: "wait",
      description: "Waits.",
      input: z.object({}),
      effect: "write",
      run: async (_input, { signal }) => {
        started.resolve();
        await once(signal, "abort");
        // The kill has failed before anybody asks for its figures.
        await delay(100);
        return { status: "ok", text: "" };
      },
    });
    let kills = 0;
    const { errors } = await worker(chat, {
      replies: [{ calls: [{ name: "wait" }] }],
      tools: [slow],
      async killAll() {
        kills += 1;
        if (kills === 1) throw new Error("The process that runs the sandboxes has ended.");
        return { commands: 1, processes: 2, survivors: 0 };
      },
    });
    await says("wait");
    await started.promise;
    await stops();
    const receipt = await chat.until(() => chat.shown.find(({ message }) => message.kind === "receipt"));
    expect(receipt.message).toMatchObject({ markdown: expect.stringContaining("Stopped") });
    expect(errors.map(String)).toEqual([expect.stringContaining("runs the sandboxes has ended")]);
  });

  test("that shuts down says so in the thread, where the next one then shows that it works", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    const { close } = await worker(chat, { replies: [{ hang: "I am thinking." }] });
    await says("wait");
    const progress = await chat.until(() => chat.shown.find(({ message }) => message.kind === "progress"));
    await close();
    expect(progress.message).toMatchObject({
      markdown: expect.stringMatching(/^⏳ \*\*Interrupted\*\*.*I'll go on by myself.*\n\nI am thinking\.$/s),
      stoppable: false,
    });
    await worker(chat, { replies: [{ hang: "Thinking on." }] });
    await chat.until(() => /^⏳ \*\*Working.*Thinking on/s.test(progress.message.markdown));
    expect(chat.shown).toHaveLength(1);
  });

  test("that shuts down waits only a moment for a platform that does not answer", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    let isSilent = false;
    const { edit } = chat.surface;
    chat.surface.edit = (ref, message) => (isSilent ? new Promise(() => undefined) : edit(ref, message));
    const { close } = await worker(chat, { replies: [{ hang: "I am thinking." }] });
    await says("wait");
    await chat.until(() => chat.shown.some(({ message }) => message.kind === "progress"));
    isSilent = true;
    const began = performance.now();
    await close();
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  test("that shuts down leaves its turn to one that runs already, at once", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    const replies: Parameters<typeof worker>[1]["replies"] = ({ messages }) =>
      messages.at(-1)?.role === "tool" ? { text: "Went on." } : { calls: [{ name: "wait" }] };
    const workers = [];
    for (const { tool, started } of [waitingTool(), waitingTool()]) {
      const { close } = await worker(chat, { replies, tools: [tool] });
      workers.push(started.then(() => close));
    }
    await says("wait");
    const close = await Promise.race(workers);
    await close();
    await answer(chat, "Went on.");
  });

  test("that shuts down is no crash: however many do, the turn is not given up, and none keeps its slot", async () => {
    const chat = memoryChat();
    const { says, redis, thread } = gateway(chat);
    await says("wait");
    for (let n = 0; n < 5; n += 1) {
      const { requests, close } = await worker(chat, { replies: [{ hang: "I am thinking." }] });
      await expect.poll(() => requests.length).toBe(1);
      await close();
      expect(await redis.zscore(keys.slots("all"), threadId(thread))).toBeNull();
    }
    await worker(chat, { replies: [{ text: "Went on." }] });
    await answer(chat, "Went on.");
  });

  test.each([1, 2])(
    "whose lock is lost goes on with its tool, and of %i none begins it again",
    async (workers) => {
      const chat = memoryChat();
      const { says, redis, thread } = gateway(chat);
      const { tool, started, release, runs } = waitingTool();
      const replies = [{ calls: [{ name: "wait" }] }, { text: "Went on." }];
      const first = await worker(chat, { replies, tools: [tool], lockMs: 600 });
      await says("wait");
      await started;
      const others: Awaited<ReturnType<typeof worker>>[] = [];
      for (let n = 1; n < workers; n += 1)
        others.push(await worker(chat, { replies: [], tools: [tool], lockMs: 600 }));
      const queued = new Queue(queueName, { connection: redis, prefix: queuePrefix });
      const jobs = await queued.getActive();
      const job = jobs.find(({ data }) => data.thread === threadId(thread));
      // BullMQ looks for lost jobs once an interval, and the workers of other tests have a longer one.
      await redis.del(`${queuePrefix}:${queueName}:stalled-check`);
      await redis.set(`${queuePrefix}:${queueName}:${job?.id}:lock`, "somebody else's", "PX", 1_000);
      // Somebody was given the job and has put it back.
      await expect.poll(() => job?.getState(), { timeout: 10_000, interval: 10 }).toBe("delayed");
      release();
      await answer(chat, "Went on.");
      await expect.poll(() => job?.getState(), { timeout: 10_000 }).toBe("unknown");
      await queued.close();
      expect(runs()).toBe(1);
      expect(first.requests[1]?.messages.at(-1)).toMatchObject({ role: "tool", status: "ok" });
      expect(first.errors).toEqual([expect.stringContaining("locks of 1 turn have expired")]);
      expect(others.flatMap(({ requests, errors }) => [...requests, ...errors])).toEqual([]);
      expect(chat.shown.filter(({ message }) => message.kind === "answer")).toHaveLength(1);
    },
  );

  test("whose session is another's ends its tool, and the next one says that the outcome is unknown", async () => {
    const chat = memoryChat();
    const { says, redis, queue, thread } = gateway(chat);
    const { tool, started, runs } = waitingTool();
    const replies = [{ calls: [{ name: "wait" }] }, { text: "Went on." }];
    const { requests } = await worker(chat, { replies, tools: [tool], lockMs: 600 });
    await says("wait");
    await started;
    await claimSession(redis, threadId(thread));
    // Another one, which has died, had taken the thread over.
    const isWaiting = async () => (await queue.depth()).active === 0;
    await expect.poll(isWaiting, { timeout: 10_000, interval: 10 }).toBe(true);
    await queue.wake(threadId(thread));
    await answer(chat, "Went on.");
    expect(runs()).toBe(1);
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: "tool", status: "unknown" });
    expect(chat.shown.filter(({ message }) => message.kind === "answer")).toHaveLength(1);
  });

  test("gives up a turn that was claimed again and again without progress, and says so", async () => {
    const chat = memoryChat();
    const { says, redis, thread } = gateway(chat);
    const id = threadId(thread);
    const { event } = await says("crash");
    await (await claimSession(redis, id)).take({ type: "turn-start", turn: "t1", at: 1 });
    // So many workers have died over it.
    for (let n = 0; n < 3; n += 1) await claimSession(redis, id);
    const { requests } = await worker(chat, { replies: [{ text: "Next." }] });
    await answer(chat, "made no progress, so it gave up");
    if (event.kind !== "message") throw new Error("Only messages are said.");
    await chat.until(() => chat.marks.get(event.ref.message)?.at(-1) === "failed");
    expect(requests).toEqual([]);
    await says("again");
    await answer(chat, "Next.");
  });

  test("still tries a turn over which two have died", async () => {
    const chat = memoryChat();
    const { says, redis, thread } = gateway(chat);
    const id = threadId(thread);
    await says("crash");
    await (await claimSession(redis, id)).take({ type: "turn-start", turn: "t1", at: Date.now() });
    await claimSession(redis, id);
    await claimSession(redis, id);
    await worker(chat, { replies: [{ text: "At last." }] });
    await answer(chat, "At last.");
  });

  test("has its runner forget it when its files were asked for, and also when nobody asks", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    const asked: string[] = [];
    const { tool, release } = waitingTool();
    release();
    await worker(chat, {
      replies: [{ calls: [{ name: "wait" }] }, { text: "First." }, { text: "Second." }],
      tools: [tool],
      async fileChanges() {
        asked.push("files");
        return noChanges;
      },
      forgetTurn: () => void asked.push("forget"),
    });
    await says("work");
    await answer(chat, "First.");
    await says("talk");
    await answer(chat, "Second.");
    expect(asked).toEqual(["files", "forget", "forget"]);
  });

  test("tells of work no longer, and leaves the slot, when its end finds that another worker has the session", async () => {
    const chat = memoryChat({ statusMs: 5 });
    const { redis, says, thread: place } = gateway(chat);
    const { tool, started, release } = waitingTool();
    const { close } = await worker(chat, {
      replies: [{ calls: [{ name: "wait" }] }, { text: "Too late." }],
      tools: [tool],
      async fileChanges(thread) {
        await claimSession(redis, thread);
        return noChanges;
      },
    });
    await says("wait");
    await started;
    await chat.until(() => chat.statuses.includes("is using wait…"));
    release();
    await chat.until(() => chat.statuses.at(-1) === undefined);
    expect(chat.shown.filter(({ message }) => message.kind === "answer")).toEqual([]);
    await close();
    expect(await redis.zscore(keys.slots("all"), threadId(place))).not.toBeNull();
  });

  /** What a worker has left that died in the middle of a call. @param others calls that it had not begun */
  async function dieInCall(redis: Redis, id: string, others: string[] = []) {
    const lease = await claimSession(redis, id);
    const at = Date.now();
    await lease.take({ type: "turn-start", turn: "t1", at });
    const parts = ["c1", ...others].map((call) => {
      return { type: "tool-call", call: { id: call, name: "wait", input: {} } } as const;
    });
    await lease.append([
      {
        ...{ type: "assistant", step: 1, usage: noUsage, at },
        message: { role: "assistant", id: "a1", model: "test/m", stop: "tool-calls", parts },
      },
      { type: "tool-start", callId: "c1", at },
    ]);
  }
  const receiptIn = (chat: Chat) =>
    chat.shown.find(({ message }) => message.kind === "receipt")?.message.markdown;

  test("counts, when it is stopped, no call of an earlier step that had died with its worker", async () => {
    const chat = memoryChat();
    const { redis, says, stops, thread } = gateway(chat);
    await says("wait");
    await dieInCall(redis, threadId(thread));
    const { tool, started } = waitingTool();
    await worker(chat, { replies: [{ calls: [{ name: "wait" }] }], tools: [tool] });
    await started;
    await stops();
    await answer(chat, "Stopped by Bob");
    expect(receiptIn(chat)).toContain("2 commands ended");
    expect(receiptIn(chat)).not.toContain("had ended with the worker");
  });

  test("tells, when it is stopped before it could go on, that nobody knows whether the call of a worker without a name has ended", async () => {
    const chat = memoryChat();
    const { redis, says, stops, thread } = gateway(chat);
    await says("wait");
    await dieInCall(redis, threadId(thread), ["c2"]);
    await stops();
    const { requests } = await worker(chat, { replies: [{ text: "Too late." }] });
    await answer(chat, "Stopped by Bob");
    expect(receiptIn(chat)).toMatch(/1 command on an earlier worker, which does not answer: not known/);
    expect(requests).toEqual([]);
  });

  test("takes messages that were written during a turn along, at the next step", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    const { tool, started, release } = waitingTool();
    const { requests } = await worker(chat, {
      replies: [{ calls: [{ name: "wait" }] }, { text: "Both." }],
      tools: [tool],
    });
    await says("one");
    await started;
    const { result, event } = await says("two", { addressed: "follow-up" });
    expect(result).toMatchObject({ kind: "accepted", position: 1 });
    if (event.kind !== "message") throw new Error("Only messages are said.");
    await chat.until(() => chat.places.get(event.ref.message) === 1);
    expect(chat.marks.get(event.ref.message)).toEqual(["waiting"]);
    release();
    await answer(chat, "Both.");
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: "user", text: "two" });
  });

  test("keeps room for others when one channel or one person asks for much, who see that they wait", async () => {
    const chat = memoryChat();
    const slots = { perChannel: 3, perUser: 2 };
    const { tool, started, release } = waitingTool();
    const { requests } = await worker(chat, {
      replies: ({ messages }) =>
        messages.some((m) => m.role === "tool")
          ? { text: "Late." }
          : textIn(messages).includes("wait")
            ? { calls: [{ name: "wait" }] }
            : { text: `Quick ${textIn(messages)}.` },
      tools: [tool],
      slots,
    });
    const busy = Array.from({ length: 6 }, () => gateway(chat, { channel: "busy" }));
    await Promise.all(busy.map(({ says }) => says("wait")));
    await started;
    // Ada's two are taken; Bob has one of the channel's three; Eve is elsewhere.
    const bob = { id: "U2", name: "Bob", standing: "member", roles: [] } as const;
    const eve = { id: "U3", name: "Eve", standing: "member", roles: [] } as const;
    await gateway(chat, { channel: "busy" }).says("one", { author: { ...bob, roles: [] } });
    await gateway(chat, { channel: "calm" }).says("two", { author: { ...eve, roles: [] } });
    await answer(chat, "Quick one");
    await answer(chat, "Quick two");
    // The second one may still be on its way.
    await expect
      .poll(() => requests.filter(({ messages }) => textIn(messages).includes("wait")).length)
      .toBe(2);
    // All others have found no room by now.
    await expect.poll(() => server.client().zcard(keys.slotQueue("user:memory:w:U1"))).toBe(4);
    const { event } = await gateway(chat, { channel: "busy", slots }).says("wait");
    if (event.kind !== "message") throw new Error("Only messages are said.");
    const { message } = event.ref;
    // Before it are Ada's four others that wait, and one of those that run.
    await chat.until(() => chat.places.get(message) === 5);
    expect(chat.marks.get(message)).toEqual(["waiting"]);
    release();
    await chat.until(() => chat.shown.filter((one) => one.message.markdown === "Late.").length === 7);
    await chat.until(() => chat.marks.get(message)?.includes("taken"));
  });

  test("shows the messages that it has no room for as waiting, with their place, until it takes them", async () => {
    const chat = memoryChat();
    const [first, second] = [waitingTool(), waitingTool()];
    await worker(chat, {
      replies: ({ messages }) =>
        messages.some(({ role }) => role === "tool")
          ? { text: `Did ${textIn(messages)}.` }
          : { calls: [{ name: textIn(messages) }] },
      tools: [
        { ...first.tool, name: "one" },
        { ...second.tool, name: "two" },
      ],
      concurrency: 1,
    });
    const asks = async (text: string) => {
      const { event } = await gateway(chat).says(text);
      if (event.kind !== "message") throw new Error("Only messages are said.");
      const { message } = event.ref;
      return { mark: () => chat.marks.get(message)?.at(-1), place: () => chat.places.get(message) };
    };
    const one = await asks("one");
    await first.started;
    const two = await asks("two");
    const three = await asks("two");
    await chat.until(() => two.place() === 1 && three.place() === 2 && one.mark() === "taken");
    expect([two.mark(), three.mark()]).toEqual(["waiting", "waiting"]);
    first.release();
    await second.started;
    await chat.until(() => two.mark() === "taken");
    await chat.until(() => three.place() === 1);
    expect(three.mark()).toBe("waiting");
    second.release();
    await chat.until(() => [one, two, three].every(({ mark }) => mark() === "answered"));
  });

  test("keeps what its thread has said before, however old that is, while it is worked on", async () => {
    const chat = memoryChat();
    const { says, redis, thread: place } = gateway(chat);
    const thread = threadId(place);
    const { tool, started } = waitingTool();
    await worker(chat, { replies: [{ text: "First." }, { calls: [{ name: "wait" }] }], tools: [tool] });
    await says("one");
    await answer(chat, "First.");
    await expect.poll(() => redis.ttl(keys.head(thread))).toBeGreaterThan(0);
    const kept = [keys.head(thread), keys.log(thread)];
    for (const key of kept) await redis.expire(key, 60);
    await says("two");
    await started;
    for (const key of kept) expect(await redis.ttl(key)).toBeGreaterThan(60);
  });

  test("runs many threads at once and each in order", async () => {
    const chat = memoryChat();
    const gateways = Array.from({ length: 12 }, () => gateway(chat));
    await worker(chat, {
      replies: (request) => ({
        text: request.messages.flatMap((m) => (m.role === "user" ? [m.text] : [])).join("+"),
      }),
    });
    for (const text of ["a", "b", "c"])
      await Promise.all(gateways.map(({ says, thread }) => says(`${text}${thread.thread}`)));
    for (const { thread } of gateways) {
      const id = thread.thread;
      await answer(chat, `a${id}+b${id}+c${id}`);
    }
  });
});

describe("A final answer", () => {
  /** On a busy machine a turn takes long enough to show its progress first. */
  const withoutProgress = (chat: Chat) =>
    chat.shown.map(({ message }) => message).filter(({ kind }) => kind !== "progress");

  test("is posted again when its response was lost, and marked where the platform cannot tell", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    chat.failNext(new SurfaceError("uncertain", "connection lost"));
    await worker(chat, { replies: [{ text: "Important." }] });
    await says("hi");
    const repeat = await chat.until(() =>
      chat.shown.find(({ message }) => message.footer?.includes("may be a repeat")),
    );
    expect(repeat.message.markdown).toBe("Important.");
  });

  test("is not marked where the platform still knows its key, and is there once", async () => {
    const chat = memoryChat({ idempotentMs: 60_000 });
    const { says } = gateway(chat);
    chat.failNext(new SurfaceError("uncertain", "connection lost"));
    await worker(chat, { replies: [{ text: "Important." }] });
    const { event } = await says("hi");
    if (event.kind !== "message") throw new Error("Only messages are said.");
    await chat.until(() => chat.marks.get(event.ref.message)?.at(-1) === "answered");
    expect(withoutProgress(chat)).toMatchObject([
      { kind: "answer", markdown: "Important.", footer: expect.not.stringContaining("repeat") },
    ]);
  });

  test("is marked where the platform has forgotten its key by then", async () => {
    const chat = memoryChat({ idempotentMs: 1 });
    const { says } = gateway(chat);
    // The pauses between attempts are longer than that.
    chat.failNext(new SurfaceError("uncertain", "connection lost"));
    const posted: (string | undefined)[] = [];
    const { surface } = chat;
    const { post } = surface;
    surface.post = (thread, message, key, earlier) => {
      if (message.kind === "answer") posted.push(message.footer);
      return post(thread, message, key, earlier);
    };
    await worker(chat, { replies: [{ text: "Important." }] });
    const { event } = await says("hi");
    if (event.kind !== "message") throw new Error("Only messages are said.");
    await chat.until(() => chat.marks.get(event.ref.message)?.at(-1) === "answered");
    expect(posted.map((footer) => footer?.includes("may be a repeat"))).toEqual([false, true]);
  });

  test("is looked for before it is posted again, and not repeated when it is there", async () => {
    const chat = memoryChat({ finds: true });
    const { says } = gateway(chat);
    chat.failNext(new SurfaceError("uncertain", "connection lost"));
    await worker(chat, { replies: [{ text: "Important." }] });
    const { event } = await says("hi");
    if (event.kind !== "message") throw new Error("Only messages are said.");
    await chat.until(() => chat.marks.get(event.ref.message)?.at(-1) === "answered");
    expect(withoutProgress(chat)).toMatchObject([
      { kind: "answer", markdown: "Important.", footer: expect.not.stringContaining("repeat") },
    ]);
  });

  test("comes after a progress message that somebody has deleted, which is not put there again", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    const { tool, started, release } = waitingTool();
    await worker(chat, { replies: [{ calls: [{ name: "wait" }] }, { text: "Done." }], tools: [tool] });
    const { event } = await says("wait");
    await started;
    await shows(chat, "progress", "wait");
    chat.shown.splice(0);
    release();
    await answer(chat, "Done.");
    if (event.kind !== "message") throw new Error("Only messages are said.");
    await chat.until(() => chat.marks.get(event.ref.message)?.at(-1) === "answered");
    expect(chat.shown.map(({ message }) => message.kind)).toEqual(["answer"]);
  });

  test("that the platform will not take is told of in its place, and marked as failed", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    chat.failNext(new SurfaceError("rejected", "Too many mentions."));
    await worker(chat, { replies: [{ text: "Unheard." }] });
    const { event } = await says("hi");
    if (event.kind !== "message") throw new Error("Only messages are said.");
    await chat.until(() => chat.marks.get(event.ref.message)?.at(-1) === "failed");
    expect(withoutProgress(chat)).toMatchObject([
      { kind: "notice", markdown: expect.stringContaining("could not be posted: Too many mentions.") },
    ]);
  });

  test.each(["gone", "forbidden"] as const)(
    "that the platform refuses as %s ends the turn all the same, is marked, listed and logged, and stays in the journal",
    async (kind) => {
      const chat = memoryChat();
      const { says, redis, thread } = gateway(chat);
      chat.failNext(new SurfaceError(kind, "Not here."));
      const { errors } = await worker(chat, { replies: [{ text: "Unheard." }, { text: "Heard." }] });
      const { event } = await says("hi");
      if (event.kind !== "message") throw new Error("Only messages are said.");
      await chat.until(() => chat.marks.get(event.ref.message)?.at(-1) === "failed");
      expect(errors).toEqual([`A message could not be posted to ${threadId(thread)} (${kind}).`]);
      const listed = () => createOverview(redis).line(threadId(thread));
      expect(await listed()).toMatchObject({ ended: "answered", unsaid: true });
      await says("and now?");
      await answer(chat, "Heard.");
      expect(await listed()).not.toHaveProperty("unsaid");
      expect(JSON.stringify(await readJournal(redis, threadId(thread)))).toContain("Unheard.");
    },
  );

  test("does not let the next message wait until the platform takes the marks of the last", async () => {
    const held = Promise.withResolvers<void>();
    const chat = memoryChat({ holdsMark: (mark) => (mark === "answered" ? held.promise : undefined) });
    const { says } = gateway(chat);
    await worker(chat, { replies: [{ text: "One." }, { text: "Two." }] });
    await says("first");
    await answer(chat, "One.");
    // By then it has found the mailbox empty; nothing tells of that.
    await delay(200);
    await says("second");
    await answer(chat, "Two.");
    held.resolve();
    await chat.until(
      () => [...chat.marks.values()].filter((marks) => marks.at(-1) === "answered").length === 2,
    );
  });

  test("lets nobody else wait for a slot until the platform takes its mark, which comes later", async () => {
    let isFull = true;
    const chat = memoryChat({
      async holdsMark(mark) {
        if (isFull && mark === "answered")
          throw new SurfaceError("rate-limited", "slow down", { retryAfterMs: 600_000 });
      },
    });
    const [first, second] = [gateway(chat, { channel: "one" }), gateway(chat, { channel: "two" })];
    await worker(chat, { replies: [{ text: "One." }, { text: "Two." }], concurrency: 1 });
    const { event } = await first.says("first");
    await answer(chat, "One.");
    await second.says("second");
    await answer(chat, "Two.");
    const { redis, queue, thread } = first;
    const id = threadId(thread);
    await expect.poll(() => redis.zscore(keys.waiting, id).then(Number)).toBeGreaterThan(Date.now() + 10_000);

    isFull = false;
    await redis.del(keys.rateLimit({ ...thread, channel: "one" }, "marks"));
    await queue.wake(id);
    if (event.kind !== "message") throw new Error("Only messages are said.");
    await chat.until(() => chat.marks.get(event.ref.message)?.at(-1) === "answered");
    await expect.poll(() => redis.zscore(keys.waiting, id)).toBeNull();
  });

  test("keeps no thread of a stop that is told without a slot until the platform takes its marks", async () => {
    const chat = memoryChat({
      async holdsMark(mark) {
        if (mark === "stopped")
          throw new SurfaceError("rate-limited", "slow down", { retryAfterMs: 600_000 });
      },
    });
    const { says, redis, thread } = gateway(chat);
    const id = threadId(thread);
    const { event } = await says("first");
    await orderStop(redis, id, { by: "Bob", at: tick() });
    const endUnheldThread = createEndUnheldThread({
      ...{ redis, expireSeconds: 1_000 },
      ...createTurnOutput({
        ...{ redis, output: createRateLimiter(redis), surface: () => chat.surface },
        onProblem: (problem) => expect.unreachable(problem),
        onError: () => {},
      }),
    });
    const job = new AbortController();
    const late = setTimeout(() => job.abort(new Error("It holds the thread.")), 15_000);
    // Whoever comes next sees to the mark.
    expect(await endUnheldThread(id, job.signal)).toBe("more");
    clearTimeout(late);
    expect(job.signal.aborted).toBe(false);
    expect(receipts(chat)).toHaveLength(1);
    expect(chat.marks.get(messageOf(event))?.at(-1)).not.toBe("stopped");
    expect(await redis.hkeys(keys.outbox(id))).toEqual([expect.stringContaining(":mark:")]);
  });

  test("waits out a rate limit", async () => {
    const chat = memoryChat();
    const { says } = gateway(chat);
    chat.failNext(new SurfaceError("rate-limited", "slow down", { retryAfterMs: 30 }));
    await worker(chat, { replies: [{ text: "Patient." }] });
    await says("hi");
    const { message } = await answer(chat, "Patient.");
    expect(message.footer).not.toContain("repeat");
  });
});
