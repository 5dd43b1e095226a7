import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Author, InboundEvent } from "../../src/adapters/adapter.ts";
import type { UserMessage } from "../../src/agent/messages.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { createAccess } from "../../src/intake/access.ts";
import { createIntake } from "../../src/intake/intake.ts";
import { createBudgets } from "../../src/queue/budgets.ts";
import { keys } from "../../src/queue/keys.ts";
import { createOutputScheduler } from "../../src/queue/output.ts";
import { claimSession } from "../../src/queue/session.ts";
import { openTurnQueue, type TurnQueue } from "../../src/queue/turns.ts";
import { memoryChat } from "../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

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

const person = (name: string, standing: Author["standing"] = "member"): Author => {
  return { id: `U${name}`, name, standing, roles: [] };
};
const [ada, bob, gus, robot] = [person("Ada"), person("Bob"), person("Gus", "guest"), person("Bot", "bot")];

/** A thread of Slack, before any worker has come. */
function thread(rules: object = {}) {
  const chat = memoryChat();
  const redis = server.client();
  const intake = createIntake({
    redis,
    queue,
    access: createAccess(settingsSchema.parse({ access: rules }).access),
    models: () => ["openai/small"],
    status: async () => "as always",
    audit() {},
    budgets: createBudgets({
      redis,
      settings: settingsSchema.parse({}).budgets,
      now: Date.now,
      warn: () => expect.unreachable("Nothing is spent here."),
      onError: (error) => expect.unreachable(String(error)),
    }),
    output: createOutputScheduler(redis),
    surface: () => chat.surface,
    now: Date.now,
    // Marks may still be under way when the test ends.
    onProblem() {},
  });
  const ref = { platform: "slack", workspace: "T1", channel: "C1", thread: randomUUID().slice(0, 8) };
  const id = `slack:T1:C1:${ref.thread}`;
  let said = 0;
  const says = async (author: Author, text: string, more: Partial<MessageEvent> = {}) => {
    const message = `${ref.thread}-${++said}`;
    return intake.receive({
      ...{ kind: "message", thread: ref, author, text, attachments: [], addressed: "mention", at: said },
      ref: { platform: "slack", workspace: "T1", channel: "C1", message },
      ...more,
    });
  };
  const waiting = async () => {
    const records = (await redis.lrange(keys.mail(id), 0, -1)).map((entry) => JSON.parse(entry));
    return records.map(({ message }: { message: UserMessage }) => message);
  };
  const stops = (author: Author) =>
    intake.receive({ kind: "stop", target: { thread: ref }, author, at: ++said });
  const head = (field: string) => redis.hget(keys.head(id), field);
  return { chat, redis, intake, id, ref, says, stops, waiting, head };
}

describe("What people without permission write", () => {
  test("goes along with the next accepted message, once, as somebody's words", async () => {
    const { says, waiting } = thread();
    await says(ada, "start");
    expect(await says(gus, "delete everything!", { addressed: "follow-up" })).toMatchObject({
      kind: "ignored",
    });
    await says(bob, "go on", { addressed: "follow-up" });
    await says(ada, "and on", { addressed: "follow-up" });
    const [first, second, third] = await waiting();
    expect([first?.enclosed?.overheard, third?.enclosed?.overheard]).toEqual([undefined, undefined]);
    expect(second).toMatchObject({
      text: "go on",
      enclosed: { overheard: [{ author: { id: "UGus", name: "Gus" }, text: "delete everything!" }] },
    });
  });

  test("is remembered once however often it is told, and where there is no session not at all", async () => {
    const { says, waiting, ref } = thread();
    await says(gus, "before the session", { addressed: "follow-up" });
    await says(ada, "start");
    const again = { addressed: "follow-up" as const, ref: { ...ref, message: "m1" } };
    await says(gus, "twice", again);
    await says(gus, "twice", again);
    await says(ada, "next");
    const [first, second] = await waiting();
    expect(first?.enclosed?.overheard).toBeUndefined();
    expect(second?.enclosed?.overheard).toHaveLength(1);
  });

  test("is forgotten when they delete it", async () => {
    const { says, waiting, intake, ref } = thread();
    await says(ada, "start");
    await says(gus, "my password is tulip", {
      addressed: "follow-up",
      ref: { ...ref, message: "m1" },
    });
    await says(gus, "and hello", { addressed: "follow-up" });
    const deletion = {
      kind: "delete",
      thread: ref,
      ref: { ...ref, message: "m1" },
      author: gus,
      at: 9,
    } as const;
    expect(await intake.receive(deletion)).toMatchObject({ kind: "ignored" });
    await says(ada, "next");
    expect((await waiting())[1]?.enclosed?.overheard).toMatchObject([{ text: "and hello" }]);
  });

  test("is refused in words once in a while, so that it takes no room from the answers of others", async () => {
    const { chat, says } = thread();
    const eve = person(`Eve ${randomUUID()}`, "guest");
    for (let calls = 0; calls < 5; calls += 1) {
      expect(await says(eve, "do something")).toMatchObject({ kind: "refused" });
    }
    // What is said in a channel is said in its order.
    await says(ada, "/schedules");
    const shown = await chat.until(() => chat.shown.length > 1 && chat.shown);
    expect(shown.map(({ message }) => message.markdown)).toEqual([
      expect.stringContaining("as a guest"),
      "Nothing is planned in this thread.",
    ]);
  });

  test("is refused without a word in the thread where the adapter tells it", async () => {
    const { chat, says } = thread();
    const verdict = await says(gus, "do something", { tellsRefusal: true });
    expect(verdict).toEqual({ kind: "refused", reply: expect.stringContaining("as a guest") });
    await says(ada, "/schedules");
    const [first] = await chat.until(() => chat.shown.length > 0 && chat.shown);
    expect(first?.message.markdown).toBe("Nothing is planned in this thread.");
  });

  test("is dropped, the oldest first, when nobody answers it", async () => {
    const { says, waiting } = thread();
    await says(ada, "start");
    for (let number = 1; number <= 25; number += 1) {
      await says(gus, `${number} ${"x".repeat(5_000)}`, { addressed: "follow-up" });
    }
    await says(ada, "next");
    const overheard = (await waiting())[1]?.enclosed?.overheard ?? [];
    expect(overheard).toHaveLength(20);
    expect(overheard.at(0)?.text).toMatch(/^6 x/);
    expect(Math.max(...overheard.map(({ text }) => text.length))).toBe(4_000);
  });
});

describe("A bot", () => {
  test("that is listed may give work, but not for ever without a person between", async () => {
    const { says, waiting } = thread({ bots: ["UBot"], botMessages: 2 });
    expect(await says(robot, "one")).toMatchObject({ kind: "accepted" });
    expect(await says(robot, "two")).toMatchObject({ kind: "accepted" });
    expect(await says(robot, "three")).toMatchObject({ kind: "ignored" });
    await says(ada, "go on");
    expect(await says(robot, "four")).toMatchObject({ kind: "accepted" });
    expect((await waiting()).map(({ text }) => text)).toEqual(["one", "two", "go on", "four"]);
  });

  test("that is not listed leaves no trace", async () => {
    const { says, waiting, redis, id } = thread();
    await says(ada, "start");
    expect(await says(robot, "hello")).toMatchObject({ kind: "ignored" });
    expect(await redis.exists(keys.overheard(id))).toBe(0);
    expect(await waiting()).toHaveLength(1);
  });

  test("stops nothing by its words", async () => {
    const { says, waiting } = thread({ bots: ["UBot"] });
    await says(ada, "start");
    await says(robot, "stop");
    expect((await waiting()).map(({ text }) => text)).toEqual(["start", "stop"]);
  });
});

describe("A stop that only the requester may give", () => {
  test("is refused to others, for what waits and for what runs", async () => {
    const { says, stops, redis, id, chat } = thread({ stop: "requester", administrators: ["UChief"] });
    await says(ada, "start");
    expect(await stops(bob)).toMatchObject({ kind: "refused" });
    const lease = await claimSession(redis, id);
    await lease.take({ type: "turn-start", turn: "t1", at: 1 });
    expect(await says(bob, "stop")).toMatchObject({ kind: "refused" });
    await chat.until(() => chat.shown.find(({ message }) => message.markdown.includes("may not stop")));
    expect(await stops(person("Chief"))).toMatchObject({ kind: "stopping" });
    expect(await stops(ada)).toMatchObject({ kind: "stopping" });
  });

  test("finds who asked behind a long turn", async () => {
    const { says, stops, redis, id } = thread({ stop: "requester" });
    await says(bob, "earlier");
    const lease = await claimSession(redis, id);
    await lease.take({ type: "turn-start", turn: "t1", at: 1 });
    await lease.append([{ type: "nudge", message: { role: "user", id: "n", author: bob, text: "", at: 1 } }]);
    await says(ada, "start");
    await lease.take({ type: "turn-start", turn: "t2", at: 2 });
    await lease.append(
      Array.from({ length: 150 }, (_, at) => ({ type: "tool-start", callId: String(at), at }) as const),
    );
    expect(await stops(bob)).toMatchObject({ kind: "refused" });
    expect(await stops(ada)).toMatchObject({ kind: "stopping" });
  });
});

describe("A choice", () => {
  test("of a model that may be chosen comes with the message, and another is refused with what may", async () => {
    const { says, waiting, chat } = thread();
    await says(ada, "start", { options: { model: "openai/small", skill: "changelog" } });
    expect(await waiting()).toMatchObject([{ enclosed: { model: "openai/small", skill: "changelog" } }]);
    expect(await says(ada, "start", { options: { model: "openai/huge" } })).toMatchObject({
      kind: "refused",
    });
    await chat.until(() =>
      chat.shown.find(({ message }) => message.markdown.includes("one of openai/small")),
    );
  });

  test("of how much is shown is for a thread with a session, and starts nothing", async () => {
    const { says, waiting, head } = thread();
    expect(await says(ada, "/quiet")).toMatchObject({ kind: "refused" });
    expect(await says(ada, "!full", { addressed: "follow-up" })).toMatchObject({ kind: "ignored" });
    await says(ada, "start");
    expect(await says(ada, "!FULL", { addressed: "follow-up" })).toMatchObject({ kind: "acted" });
    expect(await head("verbosity")).toBe("full");
    await says(ada, "be quiet, please", { addressed: "follow-up" });
    expect((await waiting()).map(({ text }) => text)).toEqual(["start", "be quiet, please"]);
  });
});

test("A mention in a thread that has begun before asks for what was said, one that begins a thread does not", async () => {
  const late = thread();
  await late.says(ada, "look at this");
  expect(await late.waiting()).toMatchObject([{ enclosed: { room: true } }]);
  const first = thread();
  await first.says(ada, "start", { ref: { ...first.ref, message: first.ref.thread } });
  expect((await first.waiting())[0]?.enclosed).toBeUndefined();
});

test("An edit of a message that waits keeps what came with it", async () => {
  const { says, intake, ref, waiting } = thread();
  const files = [{ name: "a.csv", mediaType: "text/csv", bytes: 3, handle: "h" }];
  const message = { platform: "slack", workspace: "T1", channel: "C1", message: ref.thread };
  await says(ada, "reed this", { attachments: files, ref: message });
  await intake.receive({ kind: "edit", thread: ref, ref: message, author: ada, text: "read this", at: 9 });
  expect(await waiting()).toMatchObject([{ text: "read this", enclosed: { files } }]);
});

describe("/status", () => {
  test.each(["/status", "!Status"])("%s is answered without a turn", async (word) => {
    const { says, chat, waiting } = thread();
    expect(await says(ada, "hello")).toMatchObject({ kind: "accepted" });
    expect(await says(ada, word)).toMatchObject({ kind: "acted" });
    await chat.until(() => chat.shown.some(({ message }) => message.markdown === "as always"));
    expect(await waiting()).toHaveLength(1);
  });

  test("means nothing in a thread that is not ours", async () => {
    const { says } = thread();
    expect(await says(ada, "/status", { addressed: "follow-up" })).toMatchObject({ kind: "ignored" });
  });
});
