import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { UserMessage } from "../../src/agent/messages.ts";
import type { Author, InboundEvent, InboundMessage } from "../../src/chat/inbound.ts";
import { threadId } from "../../src/chat/threads.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { type WatchSettings, watchSchema } from "../../src/config/watch.ts";
import { readUsage } from "../../src/queue/budgets/usage.ts";
import { keys } from "../../src/queue/redis/keys.ts";
import { readJournal } from "../../src/queue/session/journal/journal.ts";
import { deliver, readMailbox } from "../../src/queue/session/mailbox/mailbox.ts";
import { createOverview } from "../../src/queue/session/lists/overview.ts";
import { memoryChat } from "../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import type { Reply } from "../fakes/scripted-model.ts";
import { openHeddle } from "../intake/heddle.ts";
import { findUnboundedKeys } from "../queue/redis/key-table.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  await server.client().flushall();
});
afterAll(() => server.stop());

const channel = { platform: "memory", workspace: "w", channel: "c" };
const ada: Author = { id: "U1", name: "Ada", standing: "member", roles: [] };
const bob: Author = { id: "U2", name: "Bob", standing: "member", roles: [] };
const guest: Author = { id: "U3", name: "Gus", standing: "guest", roles: [] };
const bot: Author = { id: "UB", name: "alerts", standing: "bot", roles: [] };

let clock = 1_000_000;

/** Something said in the channel itself, or in a thread of it. */
function said(text: string, author: Author = ada, thread?: string): InboundMessage {
  const message = `m${(clock += 1)}`;
  return {
    ...{ kind: "message", ref: { ...channel, message }, author, text, attachments: [], at: clock },
    thread: { ...channel, thread: thread ?? message },
    addressed: thread === undefined ? "none" : "follow-up",
  };
}

const watched = (more: object = {}, debounceMs = 40): WatchSettings => ({
  ...watchSchema.parse({ task: "Help with deployments.", ...more }),
  debounceSeconds: debounceMs / 1_000,
});

type Heddle = Awaited<ReturnType<typeof openHeddle>>;

async function open(
  replies: Reply[] | ((call: number) => Reply),
  {
    watch = watched(),
    chat = memoryChat(),
    ...more
  }: Partial<Parameters<typeof openHeddle>[1]> & { chat?: ReturnType<typeof memoryChat> } = {},
) {
  const heddle = await openHeddle(server, {
    ...{ surface: chat.surface, watch, access: { bots: ["UB"] }, ...more },
    replies: (_request, call) =>
      typeof replies === "function" ? replies(call) : (replies[call - 1] ?? silence),
  });
  closers.push(heddle.close);
  return { chat, ...heddle };
}

const silence: Reply = { text: "NO_REPLY" };
const redis = () => server.client();

/** Waits until the thread's turn has ended. */
async function untilEnded({ thread }: Pick<InboundMessage, "thread">, turns = 1) {
  const id = threadId(thread);
  await expect
    .poll(async () => (await readJournal(redis(), id)).filter(({ type }) => type === "turn-end").length, {
      timeout: 10_000,
    })
    .toBe(turns);
  return readJournal(redis(), id);
}

const take = async ({ intake }: Pick<Heddle, "intake">, ...events: InboundEvent[]) => {
  const kinds: string[] = [];
  for (const event of events) kinds.push((await intake.receive(event)).kind);
  return kinds;
};

const lastRequest = ({ requests }: Pick<Heddle, "requests">) => JSON.stringify(requests.at(-1)?.messages);

describe("A channel that is watched", () => {
  test("makes one turn of several messages in a row, which may say nothing; what it costs is counted", async () => {
    const heddle = await open([silence]);
    const [first, ...more] = [said("is it down?"), said("yes, 503", bob), said("since noon")];
    expect(await take(heddle, first, ...more)).toEqual(["accepted", "accepted", "accepted"]);
    const journal = await untilEnded(first);
    expect(journal.filter(({ type }) => type === "user")).toHaveLength(3);
    expect(journal.at(-1)).toMatchObject({ outcome: { kind: "answered", silent: true } });
    expect(heddle.requests).toHaveLength(1);
    expect(lastRequest(heddle)).toContain("Help with deployments.");

    const { chat } = heddle;
    expect([chat.shown, [...chat.marks], chat.statuses, chat.privateNotices]).toEqual([[], [], [], []]);
    const line = await createOverview(redis()).line(threadId(first.thread));
    expect(line).toMatchObject({ ended: "silent", text: "is it down?" });
    const [day = ""] = (await redis().keys("heddle:{budget}:usage:*")).map((key) => key.slice(-10));
    const spent = await readUsage(redis(), [day]);
    const by = (dimension: string) => spent.filter((row) => row.dimension === dimension);
    expect(by("trigger")).toMatchObject([{ id: "watch:memory:w:c", turns: 1, usage: { calls: 1 } }]);
    expect(by("channel")).toMatchObject([{ turns: 1 }]);
    // Nobody has asked, so nobody's own budget pays.
    expect(by("user")).toEqual([]);
    expect(await findUnboundedKeys(redis())).toEqual([]);
  });

  test("answers in the thread of the first message, and is part of that thread from then on", async () => {
    const heddle = await open([{ text: "The certificate has ended." }, { text: "At noon." }]);
    const { chat } = heddle;
    const first = said("is it down?");
    await take(heddle, first, said("503", bob));
    await chat.until(() => chat.shown.length === 1);
    expect(chat.shown[0]?.message).toMatchObject({ kind: "answer", markdown: "The certificate has ended." });
    await untilEnded(first);

    const reply = said("when?", bob, first.thread.thread);
    expect(await take(heddle, reply)).toEqual(["accepted"]);
    await chat.until(() => chat.shown.some(({ message }) => message.markdown.includes("At noon.")));
    await untilEnded(first, 2);
    await chat.until(() => chat.marks.get(reply.ref.message)?.includes("answered"));
    expect([...chat.marks.keys()]).toEqual([reply.ref.message]);
  });

  test("listens in threads too, as long as the agent has not spoken there, and runs no commands but a stop", async () => {
    const heddle = await open([silence, silence, silence]);
    const first = said("lunch?");
    await take(heddle, first);
    await untilEnded(first);
    const within = first.thread.thread;
    expect(await take(heddle, said("help", bob, within))).toEqual(["ignored"]);
    expect(await take(heddle, said("at one", bob, within), said("fine", ada, within))).toEqual([
      "accepted",
      "accepted",
    ]);
    await untilEnded(first, 2);
    const other = said("an old thread", bob, "m-of-others");
    expect(await take(heddle, other)).toEqual(["accepted"]);
    await untilEnded(other);
    expect(heddle.requests).toHaveLength(3);
    expect([heddle.chat.shown, [...heddle.chat.marks]]).toEqual([[], []]);
  });

  test("is asked aloud once somebody mentions the agent in the thread", async () => {
    const heddle = await open([silence, { text: "Yes." }]);
    const { chat } = heddle;
    const first = said("lunch?");
    await take(heddle, first);
    await untilEnded(first);
    const mention: InboundMessage = {
      ...said("do you know?", bob, first.thread.thread),
      addressed: "mention",
    };
    await take(heddle, mention);
    await chat.until(() => chat.shown.some(({ message }) => message.markdown.includes("Yes.")));
    await chat.until(() => chat.marks.get(mention.ref.message)?.includes("answered"));
    expect(lastRequest(heddle)).toContain("lunch?");
    const [head] = await redis().hmget(keys.head(threadId(first.thread)), "listening");
    expect(head).toBeNull();
  });

  test("hears only whom access lets ask, who is named, and no bot that is not named; nobody is told", async () => {
    const anybody = await open([]);
    expect(await take(anybody, said("hi", guest), said("hi", bot), said("  ", ada))).toEqual([
      "ignored",
      "ignored",
      "ignored",
    ]);
    const named = await open([], { watch: watched({ from: ["U2", "UB", "U3"] }) });
    const heard = said("b", bob);
    expect(await take(named, said("a", ada), heard, said("c", bot), said("d", guest))).toEqual([
      "ignored",
      "accepted",
      "accepted",
      "ignored",
    ]);
    const unlisted = await open([], { watch: watched({ from: ["UB"] }), access: {} });
    expect(await take(unlisted, said("e", bot))).toEqual(["ignored"]);
    await untilEnded(heard);
    for (const { chat } of [anybody, named, unlisted])
      expect([chat.shown, chat.privateNotices]).toEqual([[], []]);
    // What strangers say is not quoted to anybody later.
    expect(await redis().keys("*:overheard")).toEqual([]);
  });

  test("hears only what has one of its words, or fits its expression", async () => {
    const heddle = await open([], {
      watch: watched({ words: ["Deploy", "roll back"], pattern: "\\b5\\d\\d\\b" }),
    });
    const texts = ["please DEPLOY", "redeployed", "ROLL BACK!", "a 503", "15034", "nothing"];
    expect(await take(heddle, ...texts.map((text) => said(text)))).toEqual([
      ...["accepted", "ignored", "accepted", "accepted", "ignored", "ignored"],
    ]);
  });

  test("spends no more than a moment on an expression that somebody's message makes slow", async () => {
    const problems: string[] = [];
    const heddle = await open([], { watch: watched({ words: ["deploy"], pattern: "^(a+)+$" }), problems });
    const hostile = `${"a".repeat(3_900)}!`;
    const start = performance.now();
    expect(await take(heddle, ...Array.from({ length: 50 }, () => said(hostile)))).toEqual(
      Array.from({ length: 50 }, () => "ignored"),
    );
    expect(performance.now() - start).toBeLessThan(3_000);
    expect(problems).toEqual([
      expect.stringContaining("channels.memory:w:c.watch.pattern searches too long"),
    ]);
    expect(await take(heddle, said("aaa"), said("deploy"))).toEqual(["ignored", "accepted"]);
  });

  test("begins no more turns than its limits allow, and tells the operator once", async () => {
    const problems: string[] = [];
    const heddle = await open([], { watch: watched({ perHour: 2 }, 1), problems });
    const kinds: string[] = [];
    for (const event of [said("a"), said("b"), said("c"), said("d")]) {
      kinds.push(...(await take(heddle, event)));
      if (kinds.at(-1) === "accepted") await untilEnded(event);
    }
    expect(kinds).toEqual(["accepted", "accepted", "ignored", "ignored"]);
    expect(problems).toEqual([expect.stringContaining("watched channel memory:w:c has brought 2")]);

    const looping = await open([], {
      watch: watched({ loopLimit: { events: 1, minutes: 10 } }, 1),
      problems,
    });
    const first = said("e");
    await take(looping, first);
    await untilEnded(first);
    expect(await take(looping, said("f"), said("g"))).toEqual(["ignored", "ignored"]);
    expect(problems.slice(1)).toEqual([expect.stringContaining("limit against loops")]);
  });

  test("says nothing of it when its budget is used up", async () => {
    const heddle = await open(() => silence, { watch: watched({ budget: { cost: 0.005 } }, 1) });
    const [first, second] = [said("a"), said("b")];
    await take(heddle, first);
    await untilEnded(first);
    await take(heddle, second);
    expect((await untilEnded(second)).at(-1)).toMatchObject({ outcome: { kind: "budget" } });
    expect(heddle.requests).toHaveLength(1);
    expect(heddle.chat.shown).toEqual([]);
  });

  test("gives what is said in quiet hours to one turn when they end", async () => {
    // 23:30 in Berlin.
    const time = { ahead: Date.parse("2026-11-23T22:30:00Z") - Date.now() };
    const morning = Date.parse("2026-11-24T06:00:00Z");
    const quietHours = { from: "22:00", to: "07:00", timeZone: "Europe/Berlin" };
    const heddle = await open([], { watch: watched({ quietHours }), now: () => Date.now() + time.ahead });
    const first = said("down at night");
    await take(heddle, first);
    time.ahead += 3 * 3_600_000;
    await take(heddle, said("still down", bob));
    expect(await readMailbox(redis(), threadId(first.thread))).toHaveLength(2);
    // The sweeper, which finds it then.
    expect(await redis().zscore(keys.waiting, threadId(first.thread))).toBe(String(morning));
    time.ahead = morning + 1_000 - Date.now();
    const later = said("good morning");
    await take(heddle, later);
    await untilEnded(later);
    expect(await readMailbox(redis(), threadId(first.thread))).toHaveLength(2);
  });

  test("puts off nothing that its thread has to do before its turn", async () => {
    const hourMs = 3_600_000;
    const toTime = (at: number) => new Date(at).toISOString().slice(11, 16);
    const quietHours = {
      from: toTime(Date.now() - hourMs),
      to: toTime(Date.now() + 6 * hourMs),
      timeZone: "UTC",
    };
    const heddle = await open([], { watch: watched({ quietHours }) });
    const first = said("down at night");
    await take(heddle, first);
    const thread = threadId(first.thread);
    const listedAt = async () => Number(await redis().zscore(keys.waiting, thread));
    // Of a gateway that has died before it could wake the thread.
    const asked: UserMessage = { role: "user", id: "asked", author: ada, text: "Look at it.", at: clock };
    await deliver(redis(), thread, asked, { onlyIfSession: false, now: Date.now() });
    await take(heddle, said("still down", bob));
    expect(await listedAt()).toBeLessThanOrEqual(Date.now());

    const questionEnds = Date.now() + hourMs;
    await redis().zadd(keys.waiting, questionEnds, thread);
    const again = said("and now?", bob);
    await take(heddle, again, again);
    expect(await listedAt()).toBeLessThanOrEqual(questionEnds);
  });
});

test("Only channels of chat platforms can be watched, by expressions that are some", () => {
  const parse = (id: string, watch: object) =>
    settingsSchema.safeParse({ channels: { [id]: { watch } } }).success;
  expect(parse("slack:T1:C1", { task: "Help." })).toBe(true);
  expect(parse("discord:1:2", { task: "Help.", pattern: "\\b5" })).toBe(true);
  expect(parse("local:console:main", { task: "Help." })).toBe(false);
  expect(parse("slack:T1:C1", { task: "Help.", pattern: "(" })).toBe(false);
  expect(parse("slack:T1:C1", {})).toBe(false);
});

describe("A message that is told again", () => {
  test("begins nothing a second time, whichever process is told, also when its turn is over", async () => {
    const chat = memoryChat();
    const [one, other] = [await open([], { chat }), await open([], { chat })];
    const events = [said("a"), said("b", bob), said("c")];
    const told = [one, other, one, other].flatMap((heddle) => events.map((event) => take(heddle, event)));
    const kinds = (await Promise.all(told)).flat();
    expect(kinds.filter((kind) => kind === "accepted")).toHaveLength(3);
    expect(kinds.filter((kind) => kind === "duplicate")).toHaveLength(9);
    const threads = await redis().keys("*:head");
    expect(threads).toHaveLength(1);
    const thread = events.find((event) => threads[0] === keys.head(threadId(event.thread))) ?? events[0];
    await untilEnded(thread ?? said(""));
    expect(await take(other, ...events)).toEqual(["duplicate", "duplicate", "duplicate"]);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await redis().keys("*:head")).toHaveLength(1);
    expect(one.requests.length + other.requests.length).toBe(1);
  });

  test("begins its turn when its process has died before it could, by the sweeper of another", async () => {
    const first = said("a");
    const dying = await open([], { watch: watched({}, 300) });
    await take(dying, first);
    await dying.close();
    closers.splice(0);
    await open([], { sweepMs: 50 });
    await untilEnded(first);
  });
});

describe("What people do to a message that was heard", () => {
  test("edits and deletions find it in the thread of the messages before it, and stay silent", async () => {
    const heddle = await open([silence, silence], { watch: watched({}, 300) });
    const [first, second, third] = [said("a"), said("b", bob), said("c")];
    await take(heddle, first, second, third);
    const changes: InboundEvent[] = [
      {
        kind: "edit",
        thread: second.thread,
        ref: second.ref,
        author: bob,
        text: "b, I mean",
        at: (clock += 1),
      },
      { kind: "delete", thread: third.thread, ref: third.ref, author: ada, at: (clock += 1) },
    ];
    expect(await take(heddle, ...changes)).toEqual(["amended", "amended"]);
    await untilEnded(first);
    expect(lastRequest(heddle)).toContain("b, I mean");
    expect(lastRequest(heddle)).not.toContain('"c"');
    expect([heddle.chat.shown, [...heddle.chat.marks]]).toEqual([[], []]);
  });

  test("an edit while the turn works is a correction, and makes nobody an asker", async () => {
    const working = Promise.withResolvers<void>();
    const edited = Promise.withResolvers<void>();
    const heddle = await open((call) => {
      if (call > 1) return silence;
      working.resolve();
      return { calls: [{ name: "read_file", input: { path: "a" } }], after: edited.promise };
    });
    const first = said("a");
    await take(heddle, first);
    await working.promise;
    const at = (clock += 1);
    await take(heddle, { kind: "edit", thread: first.thread, ref: first.ref, author: ada, text: "b", at });
    edited.resolve();
    const journal = await untilEnded(first);
    expect(journal.at(-1)).toMatchObject({ outcome: { silent: true } });
    expect(lastRequest(heddle)).toContain("It now reads");
    expect(heddle.chat.shown).toEqual([]);
  });

  test("a stop at the second of them ends the turn, and is answered", async () => {
    const working = Promise.withResolvers<void>();
    const heddle = await open(() => {
      working.resolve();
      return { hang: "" };
    });
    const { chat } = heddle;
    const [first, second] = [said("a"), said("b", bob)];
    await take(heddle, first, second);
    await working.promise;
    const stop: InboundEvent = {
      kind: "stop",
      target: { message: second.ref },
      author: bob,
      at: (clock += 1),
    };
    expect(await take(heddle, stop)).toEqual(["stopping"]);
    await chat.until(() => chat.shown.length > 0);
    expect(chat.shown.map(({ message }) => message.markdown)).toEqual([
      expect.stringContaining("Stopped by Bob"),
    ]);
  });
});
