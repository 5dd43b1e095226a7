import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JournalRecord } from "../../src/agent/journal/journal.ts";
import type { UserMessage } from "../../src/agent/messages.ts";
import { noUsage } from "../../src/agent/model.ts";
import { SurfaceError } from "../../src/chat/surface.ts";
import type { Author, ContextMessage, InboundEvent } from "../../src/chat/inbound.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { type Access, createAccess } from "../../src/intake/access.ts";
import { createIntake } from "../../src/intake/intake.ts";
import { receiveStop } from "../../src/intake/receive/receive-stop.ts";
import { createBudgets } from "../../src/queue/budgets/budgets.ts";
import { createRatings, ratingActionId } from "../../src/queue/budgets/ratings.ts";
import { createRateLimiter } from "../../src/queue/outbox/rate-limit.ts";
import { keys } from "../../src/queue/redis/keys.ts";
import { continueActionId } from "../../src/queue/session/continue-offer.ts";
import { rememberMessages } from "../../src/queue/session/mailbox/message-threads.ts";
import { claimSession } from "../../src/queue/session/claim.ts";
import { endsTurn, readStop } from "../../src/queue/turns/stops.ts";
import { openTurnQueue, type TurnQueue } from "../../src/queue/turns/wake-queue.ts";
import { toInboundFact } from "../../src/telemetry/audit/fact.ts";
import { memoryChat } from "../fakes/memory-chat.ts";
import { offer } from "./model-offer.ts";
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
function thread(rules: object = {}, earlier: readonly ContextMessage[] = []) {
  const chat = memoryChat({ earlier });
  const redis = server.client();
  const deeds: string[] = [];
  const intake = createIntake({
    afterStop: (id) => queue.wake(id),
    redis,
    queue,
    access: createAccess(settingsSchema.parse({ access: rules }).access),
    models: () => offer("openai/small"),
    skills: async () => ["csv-report", "changelog"],
    prompts: async (_place, { id: author }) =>
      author === ada.id
        ? [
            {
              ...{ server: "tickets", name: "triage", description: "Sorts what is new" },
              arguments: [{ name: "project", about: "Its short name", required: true }],
            },
          ]
        : [],
    ahead: async () => 0,
    status: async () => "as always",
    audit: (dedupeKey) => void deeds.push(dedupeKey.action),
    budgets: createBudgets({
      redis,
      settings: settingsSchema.parse({}).budgets,
      now: Date.now,
      warn: () => expect.unreachable("Nothing is spent here."),
      onError: (error) => expect.unreachable(String(error)),
    }),
    output: createRateLimiter(redis),
    ratings: createRatings(redis, settingsSchema.parse({}).budgets),
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
  /** What a turn takes that begins now. */
  const taken = async () =>
    (await (await claimSession(redis, id)).take({ type: "turn-start", turn: "t", at: 1 })).taken;
  const head = (field: string) => redis.hget(keys.head(id), field);
  return { chat, redis, intake, id, ref, says, stops, waiting, taken, head, deeds };
}

describe("What people without permission write", () => {
  test("goes along with the messages that a turn takes next, once, as somebody's words", async () => {
    const { says, taken } = thread();
    await says(ada, "start");
    const aside = { addressed: "follow-up" as const };
    expect(await says(gus, "delete everything!", aside)).toMatchObject({ kind: "ignored" });
    await says(bob, "go on", aside);
    const [first, second] = await taken();
    await says(ada, "and on", aside);
    const [third] = await taken();
    expect([first?.enclosed?.overheard, third?.enclosed?.overheard]).toEqual([undefined, undefined]);
    expect(second).toMatchObject({
      text: "go on",
      enclosed: { overheard: [{ author: { id: "UGus", name: "Gus" }, text: "delete everything!" }] },
    });
  });

  test("is remembered once however often it is told, and where there is no session not at all", async () => {
    const { says, taken, ref } = thread();
    await says(gus, "before the session", { addressed: "follow-up" });
    await says(ada, "start");
    const again = { addressed: "follow-up" as const, ref: { ...ref, message: "m1" } };
    await says(gus, "twice", again);
    await says(gus, "twice", again);
    expect((await taken())[0]?.enclosed?.overheard).toMatchObject([{ text: "twice" }]);
  });

  test("follows its author's edits and deletions until a turn takes it, and starts nothing by them", async () => {
    const { says, taken, waiting, intake, ref } = thread();
    const at = (message: string) => ({ thread: ref, ref: { ...ref, message }, author: gus, at: 9 });
    const edits = (message: string, text: string) => intake.receive({ kind: "edit", ...at(message), text });
    const deletes = (message: string) => intake.receive({ kind: "delete", ...at(message) });
    await says(ada, "start");
    for (const [message, text] of Object.entries({ m1: "my password is tulip", m2: "hello", m3: "well" })) {
      await says(gus, text, { addressed: "follow-up", ref: { ...ref, message } });
    }
    expect(await deletes("m1")).toMatchObject({ kind: "ignored" });
    expect(await edits("m2", "goodbye")).toMatchObject({ kind: "ignored" });
    await edits("m9", "I was never heard");
    const [first] = await taken();
    expect(first?.enclosed?.overheard).toMatchObject([{ text: "goodbye" }, { text: "well" }]);
    await edits("m3", "too late");
    await says(ada, "next");
    expect((await waiting()).map(({ text }) => text)).toEqual(["next"]);
    expect((await taken())[0]?.enclosed?.overheard).toBeUndefined();
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

  test("is marked as refused where the words were said a moment ago, and not without end", async () => {
    const { chat, says, redis } = thread();
    const eve = person(`Eve ${randomUUID()}`, "guest");
    for (let calls = 0; calls < 13; calls += 1) await says(eve, "do something");
    await chat.until(() => chat.marks.size >= 10);
    await says(ada, "/status");
    await chat.until(() => [...chat.marks.values()].some((shown) => shown.includes("answered")));
    const refused = [...chat.marks.values()].filter((shown) => shown.includes("failed"));
    expect(refused).toHaveLength(10);
    // Counted for a time, not for ever.
    const [counted = ""] = await redis.keys(`*refusals~${eve.id}*`);
    expect(await redis.ttl(counted)).toBeGreaterThan(0);
  });

  test("is refused by a reply where a post would begin a thread", async () => {
    const { chat, says } = thread();
    const replies: [string, string][] = [];
    chat.surface.replyTo = async (ref, markdown) => void replies.push([ref.message, markdown]);
    const eve = person(`Eve ${randomUUID()}`, "guest");
    await says(eve, "do something", {
      ref: { platform: "slack", workspace: "T1", channel: "C1", message: "e" },
    });
    await says(eve, "and this");
    await expect.poll(() => replies).toEqual([["e", expect.stringContaining("as a guest")]]);
    expect(chat.shown).toEqual([]);
  });

  test("is refused without a word in the thread where the adapter tells it", async () => {
    const { chat, says } = thread();
    const result = await says(gus, "do something", { tellsRefusal: true });
    expect(result).toEqual({ kind: "refused", reply: expect.stringContaining("as a guest") });
    await says(ada, "/schedules");
    const [first] = await chat.until(() => chat.shown.length > 0 && chat.shown);
    expect(first?.message.markdown).toBe("Nothing is planned in this thread.");
  });

  test("is dropped, the oldest first, when nobody answers it", async () => {
    const { says, taken } = thread();
    await says(ada, "start");
    for (let number = 1; number <= 25; number += 1) {
      await says(gus, `${number} ${"x".repeat(5_000)}`, { addressed: "follow-up" });
    }
    await says(ada, "next");
    const overheard = (await taken())[1]?.enclosed?.overheard ?? [];
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

  test("that is listed is refused without a word, to which it could answer for ever", async () => {
    const { says, chat } = thread({ bots: ["UBot"] });
    expect(await says(robot, "")).toMatchObject({ kind: "refused" });
    await says(ada, "/schedules");
    const [first] = await chat.until(() => chat.shown.length > 0 && chat.shown);
    expect(first?.message.markdown).toBe("Nothing is planned in this thread.");
  });

  test("that is not listed leaves no trace", async () => {
    const { says, waiting, redis, id } = thread();
    await says(ada, "start");
    expect(await says(robot, "hello")).toMatchObject({ kind: "ignored" });
    expect(await redis.exists(keys.unauthorized(id))).toBe(0);
    expect(await waiting()).toHaveLength(1);
  });

  test("that is listed says nothing by its edits, which may be its progress", async () => {
    const { says, waiting, intake, ref } = thread({ bots: ["UBot"] });
    const at = { thread: ref, ref: { ...ref, message: "m1" }, author: robot };
    await says(robot, "one", at);
    expect(await intake.receive({ kind: "edit", ...at, text: "two", at: 9 })).toMatchObject({
      kind: "ignored",
    });
    expect((await waiting()).map(({ text }) => text)).toEqual(["one"]);
  });

  test("stops nothing by its words", async () => {
    const { says, waiting } = thread({ bots: ["UBot"] });
    await says(ada, "start");
    await says(robot, "stop");
    expect((await waiting()).map(({ text }) => text)).toEqual(["start", "stop"]);
  });
});

describe("A name", () => {
  test.each([
    ["Ada] ok\n[Chief", "Ada ok Chief"],
    ["\u202Eadmin\u202C\u200B", "admin"],
    ["<!channel> [click](http://x)", "!channel click (http://x)"],
    ["\u2028\u0000", "Somebody"],
  ])("has nothing in it that could be more than a name: %j", async (name, plain) => {
    const { says, stops, waiting, redis, id } = thread();
    await says({ ...ada, name }, "start");
    await stops({ ...ada, name });
    expect((await waiting())[0]?.author).toEqual({ id: "UAda", name: plain });
    expect(JSON.parse((await redis.get(keys.stop(id))) ?? "")).toMatchObject({ by: plain });
  });

  test("of an administrator gives a stranger nothing", async () => {
    const { says, stops } = thread({ administrators: ["UChief"], stop: "administrators" });
    await says(ada, "start");
    expect(await stops({ ...bob, name: "Chief" })).toMatchObject({ kind: "refused" });
    expect(await stops(person("Chief"))).toMatchObject({ kind: "stopping" });
  });
});

describe("A press that somebody forges", () => {
  const minute = 60_000;
  /** A thread where Ada is asked two things. */
  async function asked(openMs = minute) {
    const place = thread();
    const about = { callId: "c", tool: "bash", requester: { id: ada.id, name: ada.name } };
    const open = { ...about, askedAt: Date.now(), expiresAt: Date.now() + openMs };
    const questions = [
      { ...open, id: "q1", kind: "approval", why: "It is public." },
      { ...open, id: "q2", kind: "choice", text: "Which?", choices: ["Red", "Blue"] },
    ];
    for (const question of questions) {
      await place.redis.hset(keys.head(place.id), `question:${question.id}`, JSON.stringify(question));
    }
    const pressOf = (action: string, author = ada, text?: string): InboundEvent => ({
      ...{ kind: "action", thread: place.ref, ref: { ...place.ref, message: "m1" }, author, action },
      ...(text !== undefined && { text }),
      ...{ tellsRefusal: true, at: Date.now() },
    });
    const press = (...of: Parameters<typeof pressOf>) => place.intake.receive(pressOf(...of));
    const decided = async () =>
      Object.keys(await place.redis.hgetall(keys.head(place.id))).filter((field) =>
        field.startsWith("decision:"),
      );
    return { ...place, press, pressOf, decided };
  }

  test("decides nothing, whatever its id is", async () => {
    const { press, decided } = await asked();
    const part = fc.constantFrom(
      ...[
        "approve",
        "deny",
        "answer",
        "rate:liked",
        "continue",
        ":",
        "q1",
        "q2",
        "q3",
        "0",
        "2",
        "-1",
        " ",
        "\n",
      ],
    );
    const real = /^(approve:q1|deny:q1|answer:q2:[01])$/;
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 6 }), async (parts) => {
        const action = parts.join("");
        fc.pre(!real.test(action));
        expect((await press(action)).kind).not.toBe("acted");
        expect(await decided()).toEqual([]);
      }),
      {
        examples: [[["answer", ":", "q1"]], [["approve", ":", "q2"]], [["answer", ":", "q2", ":", "2"]]],
        numRuns: 60,
        seed: 3,
      },
    );
  });

  test("that rates an answer is thanked for by each gateway that is told of it, and audited once for each change", async () => {
    const { press, pressOf, redis, id } = await asked();
    const usage = noUsage;
    const answer: JournalRecord[] = [
      {
        ...{ type: "assistant", step: 1, usage, at: 1 },
        message: { role: "assistant", id: "a", parts: [], model: "demo", stop: "end" },
      },
      { type: "turn-end", turn: "t1", outcome: { kind: "answered", text: "42", steps: 1, usage }, at: 1 },
    ];
    await redis.rpush(keys.log(id), ...answer.map((record) => JSON.stringify(record)));
    const audited: string[] = [];
    for (const rating of ["liked", "disliked", "liked"] as const) {
      const action = ratingActionId("t1", rating);
      for (const result of await Promise.all([press(action), press(action)])) {
        expect(result).toMatchObject({ kind: "acted", reply: "Thank you, that is noted." });
        if (toInboundFact(pressOf(action), result)) audited.push(rating);
      }
    }
    expect(audited).toEqual(["liked", "disliked", "liked"]);
  });

  test("decides nothing for others, for another thread, and when the time is over", async () => {
    const mine = await asked();
    for (const author of [bob, gus, robot, { ...bob, name: ada.name }]) {
      expect((await mine.press("approve:q1", author)).kind).toMatch(/refused|ignored/);
      expect((await mine.press("answer:q2:0", author)).kind).toMatch(/refused|ignored/);
    }
    const other = thread();
    await other.says(ada, "start");
    const replayed = { ...other.ref, message: "m1" };
    const press = {
      kind: "action",
      thread: other.ref,
      ref: replayed,
      author: ada,
      action: "approve:q1",
    } as const;
    expect(await other.intake.receive({ ...press, at: Date.now() })).toMatchObject({ kind: "refused" });
    const late = await asked(-1);
    expect(await late.press("approve:q1")).toMatchObject({ reply: "The time to decide this is over." });
    await late.says(ada, "Blue");
    expect([await mine.decided(), await late.decided()]).toEqual([[], []]);
    expect(await mine.press("answer:q2:1")).toMatchObject({ kind: "acted" });
    expect(await mine.decided()).toEqual(["decision:q2"]);
  });
});

describe("What is told more than once, by Slack or by several gateways,", () => {
  test("stops once, and does not say that nothing is running", async () => {
    const { chat, says, redis, id, ref } = thread();
    await says(ada, "start");
    const lease = await claimSession(redis, id);
    await lease.take({ type: "turn-start", turn: "t1", at: 1 });
    const stop = { ref: { ...ref, message: "m1" }, at: 9 };
    expect(await says(ada, "stop", stop)).toMatchObject({ kind: "stopping" });
    await lease.append([], { fields: { status: "idle" } });
    expect(await says(ada, "stop", stop)).toMatchObject({ kind: "duplicate" });
    expect(await says(ada, "stop", { at: 10 })).toMatchObject({ kind: "ignored" });
    await says(ada, "/schedules");
    const shown = await chat.until(() => chat.shown.length > 1 && chat.shown);
    expect(shown.map(({ message }) => message.markdown)).toEqual([
      "Nothing is running in this thread.",
      "Nothing is planned in this thread.",
    ]);
  });

  const word = (text: string) => ({ kind: "message", text, attachments: [], addressed: "mention" }) as const;
  test.each([
    ["lets a paused turn go on, by the word", word("continue"), ["continued"]],
    [
      "lets a paused turn go on, by the button",
      { kind: "action", action: continueActionId("t1") },
      ["continued"],
    ],
    ["is answered", word("/status"), []],
  ] as const)("%s, once for the audit log", async (_what, event, told) => {
    const { says, redis, intake, id, ref, deeds, waiting } = thread();
    await says(ada, "start");
    const lease = await claimSession(redis, id);
    await lease.take({ type: "turn-start", turn: "t1", at: 1 });
    const outcome = { kind: "step-limit", text: "", limit: "", steps: 1, usage: noUsage } as const;
    await lease.append([{ type: "turn-end", turn: "t1", outcome, at: 2 }], { fields: { status: "idle" } });
    const at = { thread: ref, ref: { ...ref, message: "m1" }, author: ada, at: 9 };
    const whole: InboundEvent =
      event.kind === "message" ? { ...event, ...at, attachments: [] } : { ...event, ...at };
    const verdicts = await Promise.all([intake.receive(whole), intake.receive(whole)]);
    verdicts.push(await intake.receive(whole));
    expect(verdicts.filter((result) => toInboundFact(whole, result))).toHaveLength(1);
    expect(await waiting()).toHaveLength(told.length);
    expect(deeds).toEqual(told);
  });
});

describe("A stop at a message whose thread only the platform knows", () => {
  const unknown = { platform: "slack", workspace: "T1", channel: "C1", message: "bot7" };
  const stopAt = (author: Author): InboundEvent => ({
    ...{ kind: "stop", target: { message: unknown }, author, at: 9 },
  });
  const limited = () => new SurfaceError("rate-limited", "Too many requests.", { retryAfterMs: 1_000 });
  const lost = () => new SurfaceError("uncertain", "The answer was lost.");

  test.each([
    ["is limited", limited],
    ["is lost", lost],
  ])("holds although the first answer %s", async (_what, failure) => {
    const { says, intake, ref, chat } = thread();
    await says(ada, "start");
    let asked = 0;
    chat.surface.threadOf = async () => {
      asked += 1;
      if (asked === 1) throw failure();
      return ref;
    };
    expect(await intake.receive(stopAt(ada))).toMatchObject({ kind: "stopping" });
  });

  test("is not acknowledged while the platform does not answer, so that it comes again", async () => {
    const { says, intake, chat } = thread();
    await says(ada, "start");
    chat.surface.threadOf = async () => {
      throw lost();
    };
    await expect(intake.receive(stopAt(ada))).rejects.toThrow("The answer was lost.");
  });

  test("needs no answer of the platform where Heddle knows the message", async () => {
    const { says, intake, redis, id, chat } = thread();
    await says(ada, "start");
    await rememberMessages(redis, id, [{ ...unknown, message: `bot-${id}` }]);
    chat.surface.threadOf = async () => {
      throw lost();
    };
    const event = {
      ...stopAt(ada),
      target: { message: { ...unknown, message: `bot-${id}` } },
    } as InboundEvent;
    expect(await intake.receive(event)).toMatchObject({ kind: "stopping", thread: id });
  });

  test("by somebody without permission is refused without a word to them, and the platform is not asked", async () => {
    const { intake, chat } = thread();
    chat.surface.threadOf = async () => {
      throw new Error("Nobody may ask this.");
    };
    expect(await intake.receive(stopAt(gus))).toMatchObject({ kind: "refused" });
    expect(chat.privateNotices).toEqual([]);
  });

  test("is ignored where the platform may not be asked", async () => {
    const { intake, chat } = thread();
    chat.surface.threadOf = async () => {
      throw new SurfaceError("forbidden", "The bot is not in the channel.");
    };
    expect(await intake.receive(stopAt(ada))).toMatchObject({ kind: "ignored" });
  });
});

describe("A stop from a host whose clock is wrong", () => {
  const wrongBy = (ms: number, { ref }: ReturnType<typeof thread>): InboundEvent => ({
    ...{ kind: "stop", target: { thread: ref }, author: ada, at: Date.now() + ms, isHostTime: true },
  });

  test("ends what waits and what runs, also where the platform's clock is ahead of it", async () => {
    const talk = thread();
    const { says, intake, redis, id } = talk;
    const since = Date.now() + 30_000;
    await says(ada, "start", { at: since });
    await (await claimSession(redis, id)).take({ type: "turn-start", turn: "t1", at: 1 });
    await says(ada, "and this", { at: since + 1_000 });
    expect(await intake.receive(wrongBy(0, talk))).toMatchObject({ kind: "stopping" });
    const order = await readStop(redis, id);
    expect(order && endsTurn(order, { since, asked: [] })).toBe(true);
    const { withdrawn } = await (await claimSession(redis, id)).take();
    expect(withdrawn.map(({ text }) => text)).toEqual(["and this"]);
  });

  test("ends background jobs", async () => {
    const talk = thread();
    const since = Date.now() + 30_000;
    await talk.redis.hset(keys.jobs(talk.id), "worker", since);
    expect(await talk.intake.receive(wrongBy(0, talk))).toMatchObject({ kind: "stopping" });
    expect((await readStop(talk.redis, talk.id))?.at).toBe(since);
  });

  test.each([
    ["ahead of the platform's", 3_600_000, 0],
    ["that of what is said in the console too, and behind", -3_600_000, -3_600_000],
  ])("ends nothing that is said after it, also where that clock is %s", async (_, stopMs, saidMs) => {
    const talk = thread();
    await talk.says(ada, "start", { at: Date.now() + saidMs - 1_000 });
    expect(await talk.intake.receive(wrongBy(stopMs, talk))).toMatchObject({ kind: "stopping" });
    await talk.says(ada, "go on", { at: Date.now() + saidMs + 1_000 });
    expect((await talk.taken()).map(({ text }) => text)).toEqual(["go on"]);
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
    // Told once, alone, for all that this person has tried.
    await chat.until(() => chat.privateNotices[0]);
    expect(chat.privateNotices).toEqual([{ person: bob.id, text: expect.stringContaining("may not stop") }]);
    expect(chat.shown).toEqual([]);
    expect(await stops(person("Chief"))).toMatchObject({ kind: "stopping" });
    expect(await stops(ada)).toMatchObject({ kind: "stopping" });
  });

  test("is refused to nobody whose work begins while it is looked for", async () => {
    const { says, redis, ref } = thread();
    let looks = 0;
    const mayStop: Access["mayStop"] = async (_place, { id }, requesters) => {
      const asked = await requesters();
      if ((looks += 1) === 1) await says(ada, "and now?");
      return asked.includes(id);
    };
    const told: string[] = [];
    const options = {
      ...{ redis, access: { mayStop }, surface: () => memoryChat().surface, onProblem: expect.fail },
      afterStop: async () => {},
      tellPrivately: async (_thread: unknown, id: string) => void told.push(id),
    };
    const stop = { kind: "stop", target: { thread: ref }, author: ada, at: Date.now() + 1_000 } as const;
    expect(await receiveStop(options, stop)).toMatchObject({ kind: "stopping" });
    expect(told).toEqual([]);
  });

  test("that is told again is the same stop", async () => {
    const { says, intake, ref } = thread();
    await says(ada, "start");
    const stop: InboundEvent = { kind: "stop", target: { thread: ref }, author: ada, at: 9 };
    const first = await intake.receive(stop);
    expect(first).toMatchObject({ kind: "stopping" });
    expect(first).not.toHaveProperty("unchanged");
    expect(await intake.receive(stop)).toMatchObject({ kind: "stopping", unchanged: true });
  });

  test("is nothing to tell anybody of where nothing runs or waits, or where a button tells it", async () => {
    const { says, stops, intake, ref, chat } = thread({ stop: "requester" });
    expect(await stops(bob)).toMatchObject({ kind: "ignored" });
    await says(ada, "start");
    const press = { kind: "stop", target: { thread: ref }, author: bob, tellsRefusal: true, at: 9 } as const;
    expect(await intake.receive(press)).toMatchObject({ kind: "refused" });
    expect(await stops(gus)).toMatchObject({ kind: "refused" });
    await chat.until(() => chat.privateNotices[0]);
    expect(chat.privateNotices).toMatchObject([
      { text: expect.stringContaining("only take work from members") },
    ]);
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

  test("of a model by !model is for a thread with a session, until a message names one, and starts nothing", async () => {
    const { says, waiting, head } = thread();
    expect(await says(ada, "!model openai/small")).toMatchObject({ kind: "refused" });
    expect(await says(ada, "!model small", { addressed: "follow-up" })).toMatchObject({ kind: "ignored" });
    await says(ada, "start");
    expect(await says(ada, "!model small HIGH", { addressed: "follow-up" })).toMatchObject({ kind: "acted" });
    expect([await head("model"), await head("effort")]).toEqual(["openai/small", "high"]);
    await says(ada, "!model openai/huge");
    expect(await head("model")).toBe("openai/small");
    await says(ada, "which model is this?");
    expect((await waiting()).map(({ text }) => text)).toEqual(["start", "which model is this?"]);
    await says(ada, "with that one", { options: { model: "openai/small" } });
    expect([await head("model"), await head("effort")]).toEqual([null, null]);
  });

  test("of a prompt, behind !prompt or by an option, is for one task and for prompts that the person has", async () => {
    const { says, waiting } = thread();
    const alone = { tellsRefusal: true } as const;
    expect(await says(ada, "!prompt", alone)).toMatchObject({
      kind: "acted",
      reply: expect.stringContaining("- `tickets/triage project=…` Sorts what is new"),
    });
    expect(await says(bob, "!prompt", alone)).toMatchObject({
      reply: expect.stringContaining("No prompts of MCP servers are known so far"),
    });
    expect(await says(ada, "!prompt tickets/triage the oldest first", alone)).toMatchObject({
      kind: "refused",
      reply: "The prompt tickets/triage needs project: write `tickets/triage project=…`.",
    });
    expect(await says(bob, "!prompt tickets/triage project=heddle")).toMatchObject({ kind: "refused" });
    await says(ada, "!prompt tickets/triage project=heddle\nthe oldest first");
    await says(ada, "!prompt tickets/triage project=heddle");
    const prompt = { server: "tickets", name: "triage" };
    await says(ada, "go", { options: { prompt: { ...prompt, arguments: { project: "heddle" } } } });
    const enclosed = expect.objectContaining({ prompt: { ...prompt, arguments: { project: "heddle" } } });
    expect(await waiting()).toMatchObject([
      { text: "the oldest first", enclosed },
      { text: "Follow the prompt tickets/triage.", enclosed },
      { text: "go", enclosed },
    ]);
  });

  test("of a prompt without an argument that it needs is asked for by a form, which its author alone fills in", async () => {
    const { says, waiting, intake, ref, chat, redis } = thread();
    const at = { platform: "slack", workspace: "T1", channel: "C1", message: "chosen" };
    const file = { name: "a.csv", mediaType: "text/csv", bytes: 3, handle: "h" };
    const more = { ref: at, attachments: [file], options: { skill: "csv-report" } };
    const choose = () => says(ada, "!prompt tickets/triage the oldest first", more);
    expect(await choose()).toMatchObject({ kind: "acted" });
    // Delivered twice, it is asked for once.
    expect(await choose()).toMatchObject({ kind: "acted" });
    const [asked, ...others] = await chat.until(() => chat.shown.length > 0 && chat.shown);
    expect(others).toEqual([]);
    expect(asked?.message.markdown).toContain("The prompt `tickets/triage` needs `project`.");
    expect(await waiting()).toEqual([]);
    const [button] = asked?.message.actions ?? [];
    expect(button).toMatchObject({ label: "Fill in…", inputs: 1 });
    const press = (author: Author, fields?: Record<string, string>) =>
      intake.receive({
        ...{ kind: "action", thread: ref, ref: asked?.ref ?? at, author, action: button?.id ?? "", at: 99 },
        ...{ tellsRefusal: true, ...(fields && { fields }) },
      });
    for (const fields of [undefined, { project: "mine" }])
      expect(await press(bob, fields)).toMatchObject({
        kind: "refused",
        reply: "This is not for you to fill in: Ada has chosen the prompt.",
      });
    expect(await press(ada)).toMatchObject({
      form: {
        title: "tickets/triage",
        fields: [{ name: "project", about: "Its short name", kind: "text", required: true }],
      },
    });
    expect(await press(ada, { project: " " })).toMatchObject({ kind: "refused", field: "project" });
    expect(await waiting()).toEqual([]);
    expect(await press(ada, { project: 'the "new" one' })).toMatchObject({ kind: "acted" });
    const prompt = { server: "tickets", name: "triage", arguments: { project: 'the "new" one' } };
    expect(await waiting()).toMatchObject([
      {
        ...{ id: "chosen", text: "the oldest first", at: 99 },
        enclosed: { prompt, files: [file], skill: "csv-report" },
      },
    ]);
    // Nothing is left to press.
    const settled = {
      kind: "notice",
      markdown: "Ada has filled in what the prompt `tickets/triage` needs, and the task has begun.",
    };
    await expect.poll(() => asked?.message).toEqual(settled);
    expect(await press(ada, { project: "again" })).toMatchObject({
      kind: "refused",
      reply: expect.stringContaining("has begun already"),
    });
    expect((await redis.keys("*:prompt:*")).filter((key) => key.includes(ref.thread))).toEqual([]);
  });

  test("of a prompt by a form that has expired is refused, and the button goes", async () => {
    const { says, intake, ref, chat, redis } = thread();
    await says(ada, "!prompt tickets/triage the oldest first");
    const [asked] = await chat.until(() => chat.shown.length > 0 && chat.shown);
    const [button] = asked?.message.actions ?? [];
    const kept = (await redis.keys("*:prompt:*")).filter((key) => key.includes(ref.thread));
    await redis.del(kept);
    const pressed = await intake.receive({
      ...{ kind: "action", thread: ref, ref: asked?.ref ?? expect.fail(), author: bob },
      ...{ action: button?.id ?? "", at: 99, tellsRefusal: true },
    });
    expect(pressed).toMatchObject({ kind: "refused", reply: expect.stringContaining("a day has passed") });
    await expect
      .poll(() => asked?.message)
      .toEqual({ kind: "notice", markdown: expect.stringContaining("Choose the prompt again") });
  });

  test("of a skill, by !skill or a menu, is for a thread with a session and for skills that it has", async () => {
    const { says, waiting, head, intake, ref } = thread();
    const alone = { tellsRefusal: true } as const;
    expect(await says(ada, "!skill changelog", alone)).toMatchObject({
      kind: "refused",
      reply: expect.stringContaining("Give me a task first"),
    });
    await says(ada, "start");
    expect(await says(ada, "/skill", alone)).toMatchObject({
      kind: "acted",
      reply: expect.stringMatching(/^No skill is chosen here; there are csv-report, changelog\./),
      menus: [{ options: [{ id: "skill:none" }, { id: "skill:csv-report" }, { id: "skill:changelog" }] }],
    });
    expect(await says(ada, "!skill Changelog", { addressed: "follow-up" })).toMatchObject({ kind: "acted" });
    expect(await head("skill")).toBe("changelog");
    const chooses = (action: string) =>
      intake.receive({
        ...{ kind: "action", thread: ref, ref: { ...ref, message: "shown" }, author: ada, action, at: 99 },
        ...alone,
      });
    expect(await chooses("skill:csv-report")).toMatchObject({
      kind: "acted",
      reply: "From the next task on, the skill csv-report is used here.",
      menus: [{ options: [{ id: "skill:none" }, { about: "used here" }, { id: "skill:changelog" }] }],
    });
    expect(await chooses("skill:../../etc")).toMatchObject({
      reply: expect.stringContaining("cannot be chosen here: choose one of csv-report, changelog."),
    });
    expect(await head("skill")).toBe("csv-report");
    expect(await chooses("skill:none")).toMatchObject({ kind: "acted" });
    expect(await head("skill")).toBeNull();
    expect((await waiting()).map(({ text }) => text)).toEqual(["start"]);
  });

  test("of a model by a menu is as one by !model, and gives the menu as it is then", async () => {
    const { says, head, intake, ref } = thread();
    const alone = { tellsRefusal: true } as const;
    expect(await says(ada, "/model", alone)).toMatchObject({ kind: "acted", menus: [] });
    const chooses = (action: string) =>
      intake.receive({
        ...{ kind: "action", thread: ref, ref: { ...ref, message: "shown" }, author: ada, action, at: 99 },
        ...alone,
      });
    expect(await chooses("model:openai/small")).toMatchObject({ kind: "refused" });
    await says(ada, "start");
    const option = (name: string, about: string) => ({ id: `model:${name}`, label: name, about });
    expect(await says(ada, "/model", alone)).toMatchObject({
      menus: [{ options: [option("test/model", "answers here"), { id: "model:openai/small" }] }],
    });
    expect(await chooses("model:openai/small")).toMatchObject({
      kind: "acted",
      reply: "From the next task on, openai/small answers here.",
      menus: [
        {
          options: [option("test/model", "unless another is chosen"), option("openai/small", "answers here")],
        },
      ],
    });
    expect(await head("model")).toBe("openai/small");
    expect(await chooses("model:openai/huge")).toMatchObject({
      reply: expect.stringContaining("cannot be chosen"),
    });
    await chooses("model:test/model");
    expect(await head("model")).toBeNull();
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

describe("A mention without a task", () => {
  test("asks for the task, which that person then writes without a mention, and nobody else", async () => {
    const { says, waiting, chat } = thread();
    expect(await says(ada, " ")).toMatchObject({ kind: "refused" });
    await chat.until(() =>
      chat.shown.find(({ message }) => message.markdown.includes("Write here what you")),
    );
    expect(await says(bob, "lunch?", { addressed: "follow-up" })).toMatchObject({ kind: "ignored" });
    expect(await says(ada, "", { addressed: "follow-up" })).toMatchObject({ kind: "ignored" });
    expect(await says(ada, "count the lines", { addressed: "follow-up" })).toMatchObject({
      kind: "accepted",
    });
    expect((await waiting()).map(({ text }) => text)).toEqual(["count the lines"]);
  });

  test("in a thread where people have talked is to read it and help", async () => {
    const talk = [{ author: bob, text: "the build is red", at: 1 }];
    const { says, waiting } = thread({}, talk);
    expect(await says(ada, "")).toMatchObject({ kind: "accepted" });
    expect(await waiting()).toMatchObject([
      { text: "Read this thread, and help with what it is about.", enclosed: { room: true } },
    ]);
  });
});

test("An edit of a message that waits keeps what came with it", async () => {
  const { says, intake, ref, waiting } = thread();
  const files = [{ name: "a.csv", mediaType: "text/csv", bytes: 3, handle: "h" }];
  const message = { platform: "slack", workspace: "T1", channel: "C1", message: ref.thread };
  await says(ada, "reed this", { attachments: files, ref: message });
  await intake.receive({ kind: "edit", thread: ref, ref: message, author: ada, text: "read this", at: 9 });
  expect(await waiting()).toMatchObject([{ text: "read this", enclosed: { files } }]);
});

describe("help", () => {
  test.each([
    ["help", "direct"],
    ["Help!", "follow-up"],
    ["!help", "mention"],
    ["/help", "mention"],
  ] as const)("%j is answered without a turn (%s)", async (text, addressed) => {
    const { says, chat, waiting } = thread();
    await says(ada, "a task");
    expect(await says(ada, text, { addressed })).toMatchObject({ kind: "acted" });
    const shown = await chat.until(() => chat.shown[0]);
    expect(shown.message.markdown).toContain("`stop`, the Stop button or 🛑");
    expect(await waiting()).toHaveLength(1);
  });

  test.each([
    ["help me with the build", "follow-up"],
    ["help", "mention"],
  ] as const)("%j is a task (%s)", async (text, addressed) => {
    const { says, waiting } = thread();
    await says(ada, "a task");
    expect(await says(ada, text, { addressed })).toMatchObject({ kind: "accepted" });
    expect(await waiting()).toHaveLength(2);
  });

  test("means nothing in a thread that is not ours", async () => {
    expect(await thread().says(ada, "help", { addressed: "follow-up" })).toMatchObject({ kind: "ignored" });
  });
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

describe("A message in a thread where the agent asks something", () => {
  /** A thread in which Ada is asked. `askedAt` is by the clock of the messages: the first is of 1, the second of 2. */
  async function asked(questions: Record<string, { kind: "approval" | "choice"; askedAt: number }>) {
    const place = thread();
    for (const [id, { kind, askedAt }] of Object.entries(questions)) {
      const shown =
        kind === "choice" ? { text: "Which?", choices: ["Red", "Blue"] } : { why: "It is public." };
      const about = { callId: "c", tool: "bash", requester: { id: ada.id, name: ada.name } };
      const question = { id, kind, ...shown, ...about, askedAt, expiresAt: Date.now() + 60_000 };
      await place.redis.hset(keys.head(place.id), `question:${id}`, JSON.stringify(question));
    }
    const decisions = async () => {
      const fields = Object.entries(await place.redis.hgetall(keys.head(place.id)));
      return Object.fromEntries(
        fields.flatMap(([field, json]) =>
          field.startsWith("decision:") ? [[field.slice("decision:".length), JSON.parse(json)]] : [],
        ),
      );
    };
    return { ...place, decisions };
  }

  test("answers the oldest that its author may answer, and no other when it is told again", async () => {
    const { says, ref, decisions, deeds } = await asked({
      approval: { kind: "approval", askedAt: 0 },
      newer: { kind: "choice", askedAt: 1 },
      older: { kind: "choice", askedAt: 0 },
    });
    const told = { ref: { ...ref, message: "m1" }, at: 1 };
    expect(await says(ada, "Blue, but a light one", told)).toMatchObject({ kind: "accepted" });
    expect(await says(ada, "Blue, but a light one", told)).toMatchObject({ kind: "duplicate" });
    const answered = { kind: "answered", by: { id: ada.id, name: ada.name } };
    expect(await decisions()).toEqual({ older: { ...answered, at: 1 } });
    await says(ada, "and Red for the other", { at: 2 });
    expect(await decisions()).toEqual({ older: { ...answered, at: 1 }, newer: { ...answered, at: 2 } });
    expect(deeds).toEqual(["decided", "decided"]);
  });

  test("that is told again answers what it was written for, though its first telling died before", async () => {
    const { says, ref, decisions, redis, id } = await asked({ q: { kind: "choice", askedAt: 1 } });
    const told = { ref: { ...ref, message: "m1" }, at: 1 };
    await says(ada, "Blue", told);
    await redis.hdel(keys.head(id), "decision:q");
    await says(ada, "Blue", told);
    expect(await decisions()).toMatchObject({ q: { kind: "answered", at: 1 } });
  });

  test("is not needed for a denial, whose reason is kept to the last of 4,000 characters", async () => {
    const { intake, ref, decisions } = await asked({ q: { kind: "approval", askedAt: 0 } });
    const reason = `${"No. ".repeat(999)}End.`;
    const press = { kind: "action", thread: ref, ref: { ...ref, message: "m1" }, author: ada } as const;
    await intake.receive({ ...press, action: "deny:q", text: reason, tellsRefusal: true, at: 1 });
    expect(await decisions()).toMatchObject({ q: { kind: "denied", reason } });
  });

  test("answers nothing that was asked after it was written, and nothing that others are asked", async () => {
    const { says, decisions } = await asked({ q: { kind: "choice", askedAt: 5 } });
    await says(ada, "do it in blue", { at: 4 });
    await says(bob, "Red!", { at: 6 });
    expect(await decisions()).toEqual({});
    await says(ada, "Blue", { at: 5 });
    expect(await decisions()).toMatchObject({ q: { kind: "answered", at: 5 } });
  });
});
