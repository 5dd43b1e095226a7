import { spawn } from "node:child_process";
import { once } from "node:events";
import { Queue } from "bullmq";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { heddle, type UserMessage } from "../../../src/agent/messages.ts";
import type { When } from "../../../src/agent/contracts/schedule-store.ts";
import { SurfaceError } from "../../../src/chat/surface.ts";
import { parseThreadId } from "../../../src/chat/threads.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { createAccess } from "../../../src/intake/access.ts";
import { createIntake, type IntakeAuditEvent } from "../../../src/intake/intake.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { keys, queuePrefix, scheduleQueueName } from "../../../src/queue/redis/keys.ts";
import {
  openScheduleClock,
  type ScheduleClock,
  startScheduleTicks,
} from "../../../src/queue/schedules/clock.ts";
import { createFiring, type FiringOptions } from "../../../src/queue/schedules/firing.ts";
import {
  createThreadSchedules,
  listSchedules,
  type ScheduleLimits,
} from "../../../src/queue/schedules/schedules.ts";
import { touchSession } from "../../../src/queue/session/expiry.ts";
import { deliver, readMailbox } from "../../../src/queue/session/mailbox/mailbox.ts";
import { openTurnQueue, type TurnQueue } from "../../../src/queue/turns/wake-queue.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { offer } from "../../intake/model-offer.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const thread = "memory:w:c:t";

let server: TestRedis;
let queue: TurnQueue;
let clock: ScheduleClock;
beforeAll(async () => {
  server = await startRedis();
  queue = openTurnQueue(server.client());
  clock = openScheduleClock(server.client());
});
afterAll(async () => {
  await Promise.all([queue.close(), clock.close()]);
  await server.stop();
});

let asked: UserMessage;
let deeds: IntakeAuditEvent[] = [];
beforeEach(async () => {
  asked = { role: "user", id: "m1", author: { id: "U1", name: "Ada" }, text: "plan it", at: 1 };
  const redis = server.client();
  await deliver(redis, thread, asked, { onlyIfSession: false, now: 1 });
  await redis.del(keys.mail(thread));
  deeds = [];
});
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closers.splice(0)) await close();
  await server.client().flushall();
});

function plans(
  limits: Partial<ScheduleLimits> = {},
  now = Date.now,
  setsClock: Pick<ScheduleClock, "set"> = clock,
) {
  return createThreadSchedules({
    redis: server.client(),
    clock: setsClock,
    thread,
    limits: { perThread: 20, shortestMs: 1_000, longestMs: 90 * 24 * hourMs, ...limits },
    asked: () => asked,
    audit: (dedupeKey) => deeds.push(dedupeKey),
    now,
  });
}

/** A worker's part that does what is due. */
async function worker(chat = memoryChat(), options: Partial<FiringOptions> = {}, onTick = () => {}) {
  const redis = server.client();
  const problems: string[] = [];
  const firing: FiringOptions = {
    ...{ redis, queue, output: createRateLimiter(redis), surface: () => chat.surface, now: Date.now },
    mayAsk: async () => ({ allowed: true }),
    audit: (dedupeKey) => deeds.push(dedupeKey),
    onProblem: (problem) => problems.push(problem),
    ...options,
  };
  const fire = createFiring(firing);
  const fired: number[] = [];
  const waiters = new Set<() => void>();
  const ticks = await startScheduleTicks({
    redis: server.client(),
    async fire(tick, due, signal) {
      onTick();
      const answer = await fire(tick, due, signal);
      fired.push(due);
      for (const check of waiters) check();
      return answer;
    },
    lockMs: 2_000,
    onError: (error) => problems.push(String(error)),
  });
  closers.push(() => ticks.close());
  const times = (count: number) =>
    new Promise<number[]>((resolve) => {
      const check = () => void (fired.length >= count && resolve(fired));
      waiters.add(check);
      check();
    });
  return { chat, times, fire, problems };
}

/** Does something as if it were that long ago; the timers go on as always. */
async function ago<T>(ms: number, work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - ms });
  try {
    return await work();
  } finally {
    vi.useRealTimers();
  }
}

const daily: When = { kind: "cron", pattern: "0 9 * * *", timeZone: "Europe/Berlin" };
/** Plans something for the next moment. The time of planning stands still, or a slow machine would be too late. */
function planSoon(task: string, setsClock: Pick<ScheduleClock, "set"> = clock) {
  const now = Date.now();
  return plans({}, () => now, setsClock).add({ task, when: { kind: "once", at: now + 50 } });
}
const waiting = () => readMailbox(server.client(), thread);

describe("A task that is due", () => {
  test("comes once, without a word of an error, where Redis was silent for longer than the lock of its tick", async () => {
    const redis = server.client();
    const { times, problems } = await worker(memoryChat(), {
      async mayAsk() {
        await redis.del(await redis.keys(`${queuePrefix}:${scheduleQueueName}:*:lock`));
        return { allowed: true };
      },
    });
    await planSoon("look");
    await times(2);
    expect((await waiting()).length).toBe(1);
    expect(problems).toEqual([]);
  });

  test("waits in the thread in the name of the person who planned it, after the thread was told", async () => {
    const { chat, times } = await worker();
    await planSoon("say sesame");
    await times(1);
    expect(await waiting()).toMatchObject([
      {
        author: asked.author,
        scheduled: true,
        text: expect.stringMatching(/^say sesame\n\n\(scheduled for /),
      },
    ]);
    expect(chat.shown.map(({ message }) => message.markdown)).toEqual([
      expect.stringMatching(/^⏰ Scheduled by Ada \(s\w+\):\n> say sesame$/),
    ]);
    expect(await plans().list()).toEqual([]);
    expect(deeds).toMatchObject([
      { action: "schedule-planned", thread, by: asked.author },
      { action: "schedule-fired", thread, by: asked.author },
    ]);
  });

  test("wakes a worker", async () => {
    const woken: string[] = [];
    const { times } = await worker(memoryChat(), {
      queue: { ...queue, wake: async (id) => void woken.push(id) },
    });
    await planSoon("look");
    await times(1);
    expect(woken).toEqual([thread]);
  });

  test("comes also when it is due before it is stored", async () => {
    const ticked = Promise.withResolvers<void>();
    const { times } = await worker(memoryChat(), {}, ticked.resolve);
    const slow: Pick<ScheduleClock, "set"> = {
      async set(...schedule) {
        await clock.set(...schedule);
        await ticked.promise;
      },
    };
    await planSoon("look", slow);
    await times(1);
    expect(await waiting()).toHaveLength(1);
  });

  test("comes at its own time, and one of a later time not with it", async () => {
    const { times } = await worker();
    await plans().add({ task: "in an hour", when: { kind: "once", at: Date.now() + hourMs } });
    await planSoon("at once");
    await times(1);
    expect((await waiting()).map(({ text }) => text.split("\n")[0])).toEqual(["at once"]);
    expect((await plans().list()).map(({ task }) => task)).toEqual(["in an hour"]);
    expect(await clock.threads()).toEqual([thread]);
  });

  test("again and again comes each time, until it is cancelled", async () => {
    const { times } = await worker();
    const everySecond: When = { kind: "cron", pattern: "* * * * * *", timeZone: "UTC" };
    const added = await plans().add({ task: "look", when: everySecond });
    const id = "schedule" in added ? added.schedule.id : "";
    const fired = await times(2);
    expect(await plans().cancel(id)).toBe(true);
    // The clock ticks once more and finds that nobody wants it any longer.
    await expect.poll(() => clock.threads()).toEqual([]);
    const [last = 0, ...others] = fired.toReversed();
    expect((await waiting()).map((message) => message.id)).toEqual(
      others.toReversed().map((due) => `schedule-${id}-${due}`),
    );
    // A machine that stood still leaves some out.
    expect([...others, last].filter((due) => due % 1_000 !== 0)).toEqual([]);
    expect(others.length).toBeGreaterThan(1);
  });

  test.each([
    ["once", { kind: "once", at: 0 }],
    ["again and again", { kind: "cron", pattern: "*/10 * * * *", timeZone: "UTC" }],
  ] as [string, When][])("%s and was missed while nothing ran comes once, and says so", async (_, when) => {
    await ago(3 * hourMs, () =>
      plans().add({ task: "look", when: when.kind === "once" ? { ...when, at: Date.now() + hourMs } : when }),
    );
    const { chat, times } = await worker();
    await times(1);
    const [message, ...more] = await waiting();
    expect(more).toEqual([]);
    expect(message?.text).toMatch(
      /\(scheduled for .*, 1[2-8]\d min late, since it could not begin before\)$/,
    );
    expect(chat.shown[0]?.message.markdown).toMatch(/ min late/);
    const asOf = Date.now();
    const next = (await plans().list()).map((planned) => planned.next > asOf);
    expect(next).toEqual(when.kind === "cron" ? [true] : []);
  });

  test("once comes even after its platform was away for days", async () => {
    const failed = Promise.withResolvers<void>();
    let isAway = true;
    const { times } = await worker(memoryChat(), {
      mayAsk: async () => {
        if (!isAway) return { allowed: true };
        failed.resolve();
        throw new SurfaceError("uncertain", "no answer");
      },
    });
    const jobs = new Queue(scheduleQueueName, { connection: server.client(), prefix: queuePrefix });
    closers.push(() => jobs.close());
    const added = await plans().add({ task: "look", when: { kind: "once", at: Date.now() + minuteMs } });
    const id = "schedule" in added ? added.schedule.id : "";
    await server.client().hset(jobs.toKey(id), "atm", 50_000);
    const job = await jobs.getJob(id);
    await job?.promote();
    await failed.promise;
    await expect.poll(() => job?.getState()).toBe("delayed");
    isAway = false;
    // On a slow machine it has gone on by itself.
    await job?.promote().catch(() => undefined);
    await times(1);
    expect((await waiting()).map(({ text }) => text.split("\n")[0])).toEqual(["look"]);
    expect(await plans().list()).toEqual([]);
  });

  test("again and again comes once for all the times at which its platform was away", async () => {
    let isAway = true;
    let failures = 0;
    const { times } = await worker(memoryChat(), {
      mayAsk: async () => {
        if (!isAway) return { allowed: true };
        failures += 1;
        throw new SurfaceError("uncertain", "no answer");
      },
    });
    const jobs = new Queue(scheduleQueueName, { connection: server.client(), prefix: queuePrefix });
    closers.push(() => jobs.close());
    await plans().add({ task: "look", when: { kind: "cron", pattern: "* * * * * *", timeZone: "UTC" } });
    await expect.poll(() => failures).toBeGreaterThan(2);
    isAway = false;
    const back = Date.now();
    await expect.poll(() => jobs.getDelayedCount()).toBeGreaterThan(2);
    for (const job of await jobs.getDelayed())
      if (job.attemptsMade > 0) await job.promote().catch(() => undefined);
    const fired = await times(3);
    expect(fired.filter((due) => due < back).length).toBeLessThan(2);
  });

  test("is not put there twice when the same moment is done again", async () => {
    const { chat, times, fire } = await worker();
    const added = await plans().add({ task: "look", when: daily });
    const tick = { thread, id: "schedule" in added ? added.schedule.id : "" };
    const { signal } = new AbortController();
    await Promise.all([fire(tick, 5, signal), fire(tick, 5, signal)]);
    await fire(tick, 5, signal);
    expect([await waiting(), chat.shown]).toEqual([[expect.anything()], [expect.anything()]]);
    await planSoon("next");
    await times(1);
    expect(await waiting()).toHaveLength(2);
  });

  test("is not put there twice when its worker is killed right after it was", async (context) => {
    context.skip(server.server.kind === "embedded", "another process cannot open the embedded server");
    await planSoon("look");
    const from = (path: string) => JSON.stringify(new URL(`../../../${path}`, import.meta.url).href);
    const victim = spawn(
      process.execPath,
      [
        "--input-type=module",
        "-e",
        `
        const { Redis } = await import("ioredis");
        const { startScheduleTicks } = await import(${from("src/queue/schedules/clock.ts")});
        const { createFiring } = await import(${from("src/queue/schedules/firing.ts")});
        const { createRateLimiter } = await import(${from("src/queue/outbox/rate-limit.ts")});
        const { memoryChat } = await import(${from("tests/fakes/memory-chat.ts")});
        const open = () => new Redis(${JSON.stringify(server.path)}, { maxRetriesPerRequest: null });
        const redis = open();
        await startScheduleTicks({
          redis: open(),
          lockMs: 2_000,
          onError: console.error,
          fire: createFiring({
            redis,
            queue: { wake: async () => {} },
            output: createRateLimiter(redis),
            surface: () => memoryChat().surface,
            mayAsk: async () => ({ allowed: true }),
            audit() {},
            now: Date.now,
            onProblem: console.error,
          }),
        });`,
      ],
      {
        cwd: new URL("../../..", import.meta.url),
        env: { ...process.env, NODE_ENV: "test", HEDDLE_FAULT: "after-deliver:1" },
        stdio: ["ignore", "ignore", "inherit"],
      },
    );
    closers.push(async () => void victim.kill("SIGKILL"));
    expect((await once(victim, "exit"))[1]).toBe("SIGKILL");
    expect(await waiting()).toHaveLength(1);
    const { times } = await worker();
    await times(1);
    expect(await waiting()).toHaveLength(1);
    expect(await plans().list()).toEqual([]);
  });

  test("is cancelled, and the thread is told, when its person may not ask for work any more", async () => {
    const { chat, times } = await worker(memoryChat(), {
      mayAsk: async (_thread, { name }) => ({ allowed: false, why: `${name} has left.` }),
    });
    await planSoon("look");
    await times(1);
    expect(chat.shown[0]?.message.markdown).toMatch(/^Schedule s\w+ is cancelled\. Ada has left\.$/);
    expect(deeds.at(-1)).toMatchObject({ action: "schedule-cancelled", by: heddle });
    expect([await waiting(), await plans().list()]).toEqual([[], []]);
  });

  test.each(["gone", "forbidden"] as const)("is cancelled when its thread is %s", async (kind) => {
    const chat = memoryChat();
    chat.failNext(new SurfaceError(kind, "no"));
    const { times } = await worker(chat);
    await planSoon("look");
    await times(1);
    expect([await waiting(), await plans().list()]).toEqual([[], []]);
  });

  test("is left out, and the thread is told once, where as much waits as may", async () => {
    const redis = server.client();
    const { chat, fire } = await worker();
    const added = await plans().add({ task: "look", when: daily });
    const id = "schedule" in added ? added.schedule.id : "";
    const entry = JSON.stringify({ type: "user", message: asked });
    await redis.rpush(keys.mail(thread), ...Array.from({ length: 1_000 }, () => entry));
    const due = Date.now();
    for (let n = 0; n < 2; n += 1) await fire({ thread, id }, due, new AbortController().signal);
    expect(await redis.llen(keys.mail(thread))).toBe(1_000);
    expect(chat.shown.map(({ message }) => message.markdown)).toEqual([
      expect.stringMatching(/^⏰ Scheduled by Ada/),
      expect.stringMatching(/^Ada, schedule `s\w+` was left out this time, since so many messages wait/),
    ]);
    expect((await plans().list()).map((planned) => planned.id)).toEqual([id]);
  });

  test("comes without a word when the word cannot be posted for another reason", async () => {
    const chat = memoryChat();
    chat.failNext(new SurfaceError("rejected", "too strange"));
    const { times, problems } = await worker(chat);
    await planSoon("look");
    await times(1);
    expect(await waiting()).toHaveLength(1);
    expect(problems).toEqual([`A scheduled task could not be announced in ${thread}.`]);
  });
});

describe("The words /schedules and /unschedule", () => {
  /** Somebody writes them into the thread; resolves with what is answered. */
  async function writes(text: string, addressed: "mention" | "follow-up" = "follow-up") {
    const chat = memoryChat();
    const redis = server.client();
    const { receive } = createIntake({
      afterStop: (id) => queue.wake(id),
      ...{ redis, queue, output: createRateLimiter(redis), surface: () => chat.surface, now: Date.now },
      budgets: { isOfToday: () => false, extend: async () => undefined },
      audit: (dedupeKey) => deeds.push(dedupeKey),
      access: createAccess(settingsSchema.parse({}).access),
      models: () => offer(),
      skills: async () => [],
      prompts: async () => [],
      ahead: async () => 0,
      status: async () => "",
      onProblem: (problem) => expect.unreachable(problem),
    });
    const at = Date.now();
    const ref = { platform: "memory", workspace: "w", channel: "c", message: `words ${text}` };
    const author = { id: "U2", name: "Bob", standing: "member" as const, roles: [] };
    const event = { thread: parseThreadId(thread), ref, author, text, attachments: [], addressed, at };
    const { kind } = await receive({ kind: "message", ...event });
    if (kind === "ignored") return kind;
    return (await chat.until(() => chat.shown[0])).message.markdown;
  }

  test("list what is planned in the thread and cancel it, without a turn", async () => {
    await plans().add({ task: "one", when: daily });
    await plans().add({ task: "two", when: { kind: "once", at: Date.now() + minuteMs } });
    // Which of them is next depends on the hour.
    const planned = await plans().list();
    const [one, two] = ["one", "two"].map((task) => planned.find((schedule) => schedule.task === task));
    const listed = await writes("/schedules");
    expect(listed).toMatch(new RegExp(`^- once, .* \\(UTC\\) · \`${two?.id}\` by Ada: two$`, "m"));
    expect(listed).toMatch(new RegExp(`^- every day at 09:00 .* · \`${one?.id}\` by Ada: one$`, "m"));
    expect(await writes(`/unschedule ${two?.id}`)).toBe(`Schedule \`${two?.id}\` is cancelled.`);
    expect(deeds.at(-1)).toMatchObject({
      action: "schedule-cancelled",
      schedule: two?.id,
      by: { name: "Bob" },
    });
    expect(await writes("/unschedule s0", "mention")).toMatch(/^There is no schedule `s0`/);
    expect(await plans().list()).toMatchObject([{ task: "one" }]);
    expect(await waiting()).toEqual([]);
  });

  test("that are mistyped are answered, and no turn begins", async () => {
    expect(await writes("!unschedule")).toContain("`!unschedule <id>` cancels what is planned");
    expect(await writes("!schedulse", "mention")).toContain("did you mean `!schedules`?");
    expect(await writes("!undo 0", "mention")).toContain("`!undo 3` three turns");
    expect(await waiting()).toEqual([]);
  });

  test("say so where nothing is planned", async () => {
    expect(await writes("schedules")).toBe("Nothing is planned in this thread.");
    expect(await writes("/schedules", "mention")).toBe("Nothing is planned in this thread.");
  });
});

describe("A plan", () => {
  test("that is cancelled by the turn is in the audit log, and one that is not there is not", async () => {
    const added = await plans().add({ task: "look", when: daily });
    const id = "schedule" in added ? added.schedule.id : "";
    const cancelled = [await plans().cancel("s0"), await plans().cancel(id), await plans().cancel(id)];
    expect(cancelled).toEqual([false, true, false]);
    expect(deeds.map(({ action }) => action)).toEqual(["schedule-planned", "schedule-cancelled"]);
  });

  test("that cannot be read hides no other one", async () => {
    await plans().add({ task: "look", when: daily });
    await server.client().hset(keys.schedules(thread), "s1", JSON.stringify({ v: 99 }));
    expect((await plans().list()).map(({ task }) => task)).toEqual(["look"]);
  });

  test("of nine in the morning is at nine in the morning, in summer and in winter", async () => {
    for (const [day, next] of [
      ["2026-03-27T12:00:00Z", "2026-03-28T08:00:00.000Z"],
      ["2026-03-28T12:00:00Z", "2026-03-29T07:00:00.000Z"],
      ["2026-10-24T12:00:00Z", "2026-10-25T08:00:00.000Z"],
    ] as const) {
      const added = await plans({}, () => Date.parse(day)).add({ task: "look", when: daily });
      expect("schedule" in added && new Date(added.schedule.next).toISOString()).toBe(next);
    }
  });

  test("in the hour that the clock leaves out comes an hour later, and once in the one that comes twice", async () => {
    const early: When = { kind: "cron", pattern: "30 2 * * *", timeZone: "Europe/Berlin" };
    for (const [day, next] of [
      ["2026-03-28T12:00:00Z", "2026-03-29T01:30:00.000Z"],
      ["2026-10-24T12:00:00Z", "2026-10-25T00:30:00.000Z"],
      ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00.000Z"],
    ] as const) {
      const added = await plans({}, () => Date.parse(day)).add({ task: "look", when: early });
      expect("schedule" in added && new Date(added.schedule.next).toISOString()).toBe(next);
    }
  });

  test.each([
    ["0 0 * * *", "Asia/Beirut", "2026-03-28T12:00:00Z", "2026-03-28T22:00:00.000Z"],
    ["30 0 * * 0", "Asia/Beirut", "2026-03-28T12:00:00Z", "2026-03-28T22:30:00.000Z"],
    ["15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "2026-10-03T15:45:00.000Z"],
    ["0 0,12 * * *", "America/Santiago", "2026-09-06T01:00:00Z", "2026-09-06T04:00:00.000Z"],
    ["15 1 * * 0", "Australia/Lord_Howe", "2026-04-04T14:15:00Z", "2026-04-11T14:45:00.000Z"],
    ["0 1 * * *", "Asia/Beirut", "2026-03-28T12:00:00Z", "2026-03-28T22:00:00.000Z"],
    ["0 9 * * *", "Asia/Beirut", "2026-03-28T12:00:00Z", "2026-03-29T06:00:00.000Z"],
  ])(
    "of %s in %s is left out on no day, whatever the clock leaves out of it",
    async (pattern, timeZone, day, next) => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(day) });
      const added = await plans().add({ task: "look", when: { kind: "cron", pattern, timeZone } });
      const schedule = "schedule" in added ? added.schedule : expect.unreachable(added.refused);
      expect(new Date(schedule.next).toISOString()).toBe(next);
      const ticks = new Queue(scheduleQueueName, { connection: server.client(), prefix: queuePrefix });
      closers.push(() => ticks.close());
      expect((await ticks.getJobScheduler(schedule.id))?.next).toBe(schedule.next);
    },
  );

  test("is forgotten with its session", async () => {
    const redis = server.client();
    await plans().add({ task: "look", when: daily });
    await touchSession(redis, thread, 1_000);
    expect(await redis.ttl(keys.schedules(thread))).toBeGreaterThan(900);
  });

  test("is one too many when the thread has as many as it may", async () => {
    await plans({ perThread: 1 }).add({ task: "one", when: daily });
    const more = await plans({ perThread: 1 }).add({ task: "two", when: daily });
    expect(more).toEqual({ refused: "this thread has 1 schedules already; cancel one first." });
    expect(await listSchedules(server.client(), thread, Date.now())).toMatchObject([{ task: "one" }]);
  });

  const now = Date.parse("2026-05-04T12:00:00Z");
  const cron = (pattern: string, timeZone = "UTC"): When => ({ kind: "cron", pattern, timeZone });
  test.each([
    ["in the past", { kind: "once", at: now }, "that time is over."],
    ["after the session's end", { kind: "once", at: now + 91 * 24 * hourMs }, /forgotten before: .* 90 days/],
    ["once a year", cron("0 0 1 1 *"), /forgotten before: .* 90 days/],
    ["each minute", cron("* * * * *"), "the shortest interval here is 5 minutes."],
    ["twice close together", cron("0,2 9 * * 1"), "the shortest interval here is 5 minutes."],
    ["by no pattern", cron("every morning"), /^"every morning" is not of five fields: minute, hour, /],
    [
      "by five words",
      cron("on each day at nine"),
      /^"on each day at nine" in UTC is no cron pattern in a time/,
    ],
    ["by too few fields", cron("0 9 * *"), /^"0 9 \* \*" is not of five fields/],
    ["by chance", cron("H 9 * * thu"), /^"H 9 \* \* thu" is not of five fields/],
    ["on no day", cron("0 0 31 2 *"), /is no cron pattern/],
    ["in no time zone", cron("0 9 * * *", "Mars/Olympus"), /in Mars\/Olympus is no cron pattern/],
  ] as [string, When, string | RegExp][])("%s is refused", async (_, when, reason) => {
    const added = await plans({ shortestMs: 5 * minuteMs }, () => now).add({ task: "look", when });
    expect(added).toEqual({
      refused: typeof reason === "string" ? reason : expect.stringMatching(reason),
    });
    expect(await plans().list()).toEqual([]);
  });

  test("of a turn that nobody asked for at that moment keeps its distance", async () => {
    const inAMinute: When = { kind: "once", at: now + minuteMs };
    const plan = () => plans({ shortestMs: 5 * minuteMs }, () => now).add({ task: "look", when: inAMinute });
    expect(await plan()).toHaveProperty("schedule");
    asked = { ...asked, scheduled: true };
    expect(await plan()).toEqual({ refused: "the shortest interval here is 5 minutes." });
  });
});
