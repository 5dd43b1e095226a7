import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Author, InboundEvent } from "../../src/chat/inbound.ts";
import { threadId } from "../../src/chat/threads.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { createAccess } from "../../src/intake/access.ts";
import { createIntake, type IntakeAuditEvent } from "../../src/intake/intake.ts";
import { createBudgets } from "../../src/queue/budgets/budgets.ts";
import { createRateLimiter } from "../../src/queue/outbox/rate-limit.ts";
import { claimSession } from "../../src/queue/session/claim.ts";
import { listWaiting } from "../../src/queue/session/mailbox/waiting-messages.ts";
import { openTurnQueue, type TurnQueue } from "../../src/queue/turns/wake-queue.ts";
import { memoryChat } from "../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { offer } from "./model-offer.ts";

let server: TestRedis;
let queue: TurnQueue;
beforeAll(async () => {
  server = await startRedis();
  queue = openTurnQueue(server.client());
});
afterAll(async () => {
  await queue.close();
  await server.stop();
});

type MessageEvent = Extract<InboundEvent, { kind: "message" }>;
const person = (name: string): Author => ({ id: `U${name}`, name, standing: "member", roles: [] });
const [ada, bob] = [person("Ada"), person("Bob")];
const alone = { tellsRefusal: true } as const;

/** A channel before any worker has come. @param secret threads that not everybody in the channel may read */
function channel(rules: object = {}, secret: readonly string[] = []) {
  const chat = memoryChat();
  const redis = server.client();
  const deeds: IntakeAuditEvent[] = [];
  const { budgets: settings, access } = settingsSchema.parse({ access: rules });
  const isOpenThread = async ({ thread }: { thread: string }) => {
    if (thread === "broken") throw new Error("The platform does not answer.");
    return !secret.includes(thread);
  };
  const intake = createIntake({
    ...{ redis, queue, output: createRateLimiter(redis), access: createAccess(access) },
    budgets: createBudgets({
      ...{ redis, settings, now: Date.now, warn: () => undefined, onError: () => undefined },
    }),
    afterStop: (id) => queue.wake(id),
    models: () => offer(),
    skills: async () => [],
    prompts: async () => [],
    ahead: async () => 0,
    status: async () => "",
    audit: (event) => void deeds.push(event),
    surface: () => ({ ...chat.surface, isOpenThread }),
    now: Date.now,
    onProblem() {},
  });
  const place = { platform: "slack", workspace: "T1", channel: randomUUID().slice(0, 8) };
  let said = 0;
  const says = (author: Author, thread: string, text: string, more: Partial<MessageEvent> = {}) => {
    const ref = { ...place, message: `message-${(said += 1)}` };
    return intake.receive({
      ...{ kind: "message", thread: { ...place, thread }, ref, author, text, attachments: [] },
      ...{ addressed: "mention", at: Date.now() - 30_000 + said },
      ...more,
    });
  };
  const chooses = (author: Author, thread: string, action: string) =>
    intake.receive({
      ...{ kind: "action", thread: { ...place, thread }, ref: { ...place, message: `shown-${(said += 1)}` } },
      ...{ author, action, at: Date.now(), ...alone },
    });
  const waiting = async (thread: string) =>
    (await listWaiting(redis, threadId({ ...place, thread }))).map(({ text }) => text);
  const begins = async (thread: string) =>
    (await claimSession(redis, threadId({ ...place, thread }))).take({
      type: "turn-start",
      turn: "t",
      at: 1,
    });
  return { chat, intake, place, says, chooses, waiting, begins, deeds };
}

describe("!queue", () => {
  test("lists the thread's messages and the other threads of the channel, and nothing of other channels", async () => {
    const { says, chat } = channel();
    await channel().says(bob, "elsewhere", "unrelated");
    await says(ada, "one", "first task");
    await says(bob, "one", "second task", { addressed: "follow-up" });
    await says(bob, "two", "third task");
    expect(await says(ada, "one", "!queue", { addressed: "follow-up" })).toMatchObject({ kind: "acted" });
    const { message } = await chat.until(() => chat.shown[0]);
    expect(message.markdown).toBe(
      [
        "**Waiting in this thread**",
        "1. `m1` · Ada, just now: first task\n2. `m2` · Bob, just now: second task",
        "**Waiting in other threads of this channel**",
        "1. Bob, just now: third task",
        "No turn runs in this channel.",
        "`!queue remove m1` takes a message out, `!queue move m2 to 1` moves it to that place.",
      ].join("\n\n"),
    );
  });

  test("has buttons for the first messages, which do for whoever may what the commands do", async () => {
    const { says, chooses, waiting, chat } = channel({ stop: "requester" });
    for (const text of ["one", "two", "three", "four"]) await says(ada, "one", text);
    await says(ada, "one", "!queue");
    const { message } = await chat.until(() => chat.shown[0]);
    const labels = ["Take out m1", "Take out m2", "Take out m3", "m2 first", "m3 first"];
    expect(message.actions?.map(({ label }) => label)).toEqual(labels);
    const id = (label: string) => message.actions?.find((action) => action.label === label)?.id ?? "";
    expect(await chooses(bob, "one", id("Take out m1"))).toMatchObject({ kind: "refused" });
    expect(await chooses(ada, "one", id("Take out m2"))).toMatchObject({ kind: "acted" });
    expect(await chooses(ada, "one", id("m3 first"))).toMatchObject({ kind: "acted" });
    expect(await waiting("one")).toEqual(["three", "one", "four"]);
    expect(await chooses(ada, "one", id("m2 first"))).toMatchObject({
      kind: "refused",
      reply: expect.stringContaining("does not wait here"),
    });
  });

  test("counts the threads that not everybody may read, and tells nothing of them", async () => {
    const { says } = channel({}, ["secret"]);
    await says(ada, "secret", "about a person");
    await says(ada, "broken", "about another");
    const result = await says(bob, "one", "/queue", alone);
    expect(result).toMatchObject({
      reply:
        "**Waiting in other threads of this channel**\n\n- … and 2 more\n\nNo turn runs in this channel.",
      menus: [],
    });
  });

  test("says nothing in a thread among people", async () => {
    const { says } = channel();
    expect(await says(ada, "theirs", "!queue", { addressed: "follow-up" })).toMatchObject({
      kind: "ignored",
    });
  });

  test("takes out a message by its name, marks it, and tells whoever looks at the audit log", async () => {
    const { says, waiting, chat, deeds, place } = channel();
    await says(ada, "one", "first");
    await says(ada, "one", "second");
    await says(bob, "one", "!queue remove m1");
    expect(await waiting("one")).toEqual(["second"]);
    const { message } = await chat.until(() => chat.shown[0]);
    expect(message.markdown).toBe("`m1` of Ada is out of the queue: “first”.");
    await chat.until(() => chat.marks.get("message-1")?.includes("stopped"));
    expect(deeds).toEqual([
      {
        ...{ action: "queue-removed", message: "message-1", by: bob },
        thread: threadId({ ...place, thread: "one" }),
      },
    ]);
  });

  test("has a message taken first", async () => {
    const { says, begins } = channel();
    for (const text of ["first", "second", "third"]) await says(ada, "one", text);
    await says(ada, "one", "!queue first m3");
    expect((await begins("one")).taken.map(({ text }) => text)).toEqual(["third", "first", "second"]);
  });

  test("moves a message to any place, for those who may, and says where it is now", async () => {
    const { says, begins, chat, deeds } = channel({ stop: "requester" });
    for (const text of ["first", "second", "third"]) await says(ada, "one", text);
    expect(await says(bob, "one", "!queue move m1 to 3", alone)).toMatchObject({ kind: "refused" });
    await says(ada, "one", "!queue move m1 to 2");
    const { message } = await chat.until(() => chat.shown[0]);
    expect(message.markdown).toBe("`m1` has place 2 of 3 now: “first”.");
    expect(await says(ada, "one", "!queue move m3 to 99", alone)).toMatchObject({
      reply: "`m3` has place 3 of 3 now: “third”.",
    });
    expect(await says(ada, "one", "!queue last m2", alone)).toMatchObject({ kind: "acted" });
    expect((await begins("one")).taken.map(({ text }) => text)).toEqual(["first", "third", "second"]);
    expect(deeds.map(({ action }) => action)).toEqual(["queue-moved", "queue-moved", "queue-moved"]);
  });

  test("says that a message which a turn has taken waits no more", async () => {
    const { says, begins } = channel();
    await says(ada, "one", "first");
    await begins("one");
    const reply = "m1 does not wait here: it was taken or removed. `!queue` lists what waits.";
    expect(await says(ada, "one", "!queue remove m1", alone)).toEqual({ kind: "refused", reply });
  });

  test("changes one's own messages only where the rules let not everybody stop", async () => {
    const { says, waiting, begins } = channel({ stop: "administrators" });
    await says(ada, "one", "Ada's");
    await says(bob, "one", "Bob's");
    const refusal = /^You may not change m2: only whoever wrote it may, and whoever may stop this thread\.$/;
    for (const change of ["remove", "first"])
      expect(await says(ada, "one", `!queue ${change} m2`, alone)).toMatchObject({
        kind: "refused",
        reply: expect.stringMatching(refusal),
      });
    expect(await says(ada, "one", "!queue remove m1", alone)).toMatchObject({ kind: "acted" });
    expect(await waiting("one")).toEqual(["Bob's"]);
    await begins("one");
  });

  test("is for those whose messages are taken", async () => {
    const { says, chooses, waiting } = channel();
    await says(ada, "one", "first");
    const gus: Author = { ...person("Gus"), standing: "guest" };
    expect(await says(gus, "one", "/queue", alone)).toMatchObject({ kind: "refused" });
    expect(await chooses(gus, "one", "queue-remove:one:message-1")).toMatchObject({ kind: "refused" });
    expect(await waiting("one")).toEqual(["first"]);
  });
});

describe("A choice in the list", () => {
  test("is offered for what the person may change, and gives the list as it is then", async () => {
    const { says, chooses, waiting, chat } = channel({ stop: "requester" });
    await says(ada, "one", "first");
    await says(ada, "one", "second");
    await says(bob, "two", "elsewhere");
    await says(ada, "three", "in another thread");
    const listed = await says(ada, "one", "/queue", alone);
    expect(listed).toMatchObject({
      menus: [
        {
          label: "Take out of the queue…",
          options: [
            { id: "queue-remove:one:message-1", label: "m1 first", about: "Ada, just now" },
            { id: "queue-remove:one:message-2", label: "m2 second" },
            { id: "queue-remove:three:message-4", label: "m1 in another thread" },
          ],
        },
        { label: "Have taken first…", options: [{ id: "queue-first:one:message-2" }] },
        {
          label: "Move to another place…",
          options: [{ id: "queue-move:one:message-1" }, { id: "queue-move:one:message-2" }],
        },
      ],
    });
    const moved = await chooses(ada, "one", "queue-first:one:message-2");
    expect(moved).toMatchObject({
      reply: expect.stringMatching(
        /^`m2` is taken first: “second”\.\n\n\*\*Waiting in this thread\*\*\n\n1\. `m2`/,
      ),
      menus: [{}, { options: [{ id: "queue-first:one:message-1" }] }, {}],
    });
    await chooses(ada, "one", "queue-remove:three:message-4");
    expect(await waiting("three")).toEqual([]);
    expect(await waiting("one")).toEqual(["second", "first"]);
    // It concerns nobody else.
    expect(chat.shown).toEqual([]);
  });

  test("to move a message asks for the place, and then gives the list as it is", async () => {
    const { says, chooses, waiting } = channel({ stop: "requester" });
    for (const text of ["first", "second", "third"]) await says(ada, "one", text);
    const asked = await chooses(ada, "one", "queue-move:one:message-1");
    expect(asked).toMatchObject({
      reply: "Where to move `m1`: “first”.",
      menus: [
        {
          options: [
            { id: "queue-move-2:one:message-1", label: "2", about: "behind m2 second" },
            { id: "queue-move-3:one:message-1", label: "3, behind all others", about: "behind m3 third" },
          ],
        },
      ],
    });
    expect(await chooses(bob, "one", "queue-move:one:message-1")).toMatchObject({ kind: "refused" });
    expect(await chooses(bob, "one", "queue-move-3:one:message-1")).toMatchObject({ kind: "refused" });
    expect(await chooses(ada, "one", "queue-move-3:one:message-1")).toMatchObject({
      reply: expect.stringMatching(/^`m1` has place 3 of 3 now: “first”\.\n\n\*\*Waiting in this thread\*\*/),
      menus: [{}, {}, {}],
    });
    expect(await waiting("one")).toEqual(["second", "third", "first"]);
  });

  test("of somebody else's message is told in its thread, once", async () => {
    const { says, chooses, chat } = channel();
    await says(ada, "one", "first");
    await chooses(bob, "one", "queue-remove:one:message-1");
    const { message } = await chat.until(() => chat.shown[0]);
    expect(message.markdown).toBe("Bob took a message of Ada out of the queue: “first”.");
  });

  test("in another thread reaches one's own messages alone, also for those who may stop", async () => {
    const { says, chooses, waiting } = channel();
    await says(ada, "one", "first");
    expect(await chooses(bob, "two", "queue-remove:one:message-1")).toMatchObject({ kind: "refused" });
    expect(await waiting("one")).toEqual(["first"]);
  });

  test("told twice, by two gateways, removes one message, once", async () => {
    const { says, chooses, waiting, deeds } = channel();
    await says(ada, "one", "first");
    await says(ada, "one", "second");
    await Promise.all([1, 2].map(() => chooses(ada, "one", "queue-remove:one:message-1")));
    expect(await waiting("one")).toEqual(["second"]);
    expect(deeds).toHaveLength(1);
  });
});
