import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSlackSurface } from "../../../src/adapters/slack/surface/surface.ts";
import { type ChatSurface, SurfaceError, type WriteLane } from "../../../src/chat/surface.ts";
import { markMessage } from "../../../src/queue/outbox/message-marks.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { loadScript } from "../../../src/queue/redis/script.ts";
import { createDowntime } from "../../../src/queue/session/gateway-last-seen.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { startFakeSlack } from "../../fakes/slack/fake-slack.ts";

const pauseScript = loadScript(new URL("../../../src/queue/outbox/scripts/pause.lua", import.meta.url));

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const never = new AbortController().signal;
let channels = 0;
const newChannel = () => ({ platform: "memory", workspace: "w", channel: `c${++channels}`, thread: "t" });

function surfaceWith(burst: number, intervalMs: number): ChatSurface {
  const { surface } = memoryChat();
  const budget = { burst, intervalMs };
  return {
    ...surface,
    limits: { ...surface.limits, budget: { messages: budget, edits: budget, marks: budget } },
  };
}

/** How many edits come between two of the same writer, at most; of one that never comes, all of them. */
function longestGap(edited: readonly string[], who: string): number {
  const places = edited.flatMap((one, place) => (one === who ? [place] : []));
  return Math.max(...[-1, ...places].map((place, index) => (places[index] ?? edited.length) - place));
}

describe("The output of all processes into a channel", () => {
  test("keeps the budget: a burst, and then one after the other", async () => {
    const [one, other] = [createRateLimiter(server.client()), createRateLimiter(server.client())];
    const surface = surfaceWith(3, 60);
    const channel = newChannel();
    const startedAt = Date.now();
    const write = (by: typeof one) =>
      by.write(surface, channel, "final", never, async () => Date.now() - startedAt);
    const times = await Promise.all([one, other, one, other, one, other].map(write));
    const sorted = times.toSorted((a, b) => a - b);
    // Redis counts whole milliseconds.
    expect(sorted[3]).toBeGreaterThanOrEqual(58);
    expect(sorted[5]).toBeGreaterThanOrEqual(178);
  });

  test("waits no longer than after a whole burst, also when the clock of Redis was set back by an hour", async () => {
    const [redis, channel] = [server.client(), newChannel()];
    const surface = surfaceWith(3, 40);
    await redis.hset(keys.rateLimit(channel, "messages"), "at", Date.now() + 3_600_000);
    const startedAt = performance.now();
    await createRateLimiter(redis).write(
      surface,
      channel,
      "final",
      AbortSignal.timeout(10_000),
      async () => {},
    );
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(38);
  });

  test("lets what is urgent go first, whoever has waited longer", async () => {
    const [one, other] = [createRateLimiter(server.client()), createRateLimiter(server.client())];
    const surface = surfaceWith(1, 20);
    const channel = newChannel();
    const [redis, line] = [server.client(), keys.waitQueue(channel, "messages")];
    const order: string[] = [];
    const write = (by: typeof one, urgency: Parameters<typeof one.write>[2]) =>
      by.write(surface, channel, urgency, never, async () => order.push(urgency));
    // Until all of them are in line nobody goes.
    await redis.zadd(line, -1, "before them");
    const waiting = [write(one, "progress"), write(one, "receipt"), write(other, "question")];
    await expect.poll(() => redis.zcard(line)).toBe(4);
    waiting.push(write(other, "final"));
    await expect.poll(() => redis.zcard(line)).toBe(5);
    await redis.zrem(line, "before them");
    await Promise.all(waiting);
    expect(order).toEqual(["final", "question", "receipt", "progress"]);
  });

  test("pauses for everybody when the platform says so to one, who then tries again", async () => {
    const [one, other] = [createRateLimiter(server.client()), createRateLimiter(server.client())];
    const surface = surfaceWith(10, 1);
    const channel = newChannel();
    const refused = Promise.withResolvers<void>();
    const order: string[] = [];
    let tries = 0;
    let refusedAt = 0;
    const limited = one.write(surface, channel, "progress", never, async () => {
      tries += 1;
      if (tries > 1) return order.push("one");
      refusedAt = Date.now();
      queueMicrotask(refused.resolve);
      throw new SurfaceError("rate-limited", "slow down", { retryAfterMs: 150 });
    });
    await refused.promise;
    await other.write(surface, { ...channel, channel: "elsewhere" }, "final", never, async () =>
      order.push("elsewhere"),
    );
    await Promise.all([
      limited,
      other.write(surface, channel, "final", never, async () => order.push("other")),
    ]);
    expect(order[0]).toBe("elsewhere");
    expect(order.toSorted()).toEqual(["elsewhere", "one", "other"]);
    expect(Date.now() - refusedAt).toBeGreaterThanOrEqual(145);
  });

  test("pauses what the platform limits, and nothing else", async () => {
    const output = createRateLimiter(server.client());
    const surface = { ...surfaceWith(10, 1), budgetPlace: () => "*" };
    const [here, elsewhere] = [newChannel(), newChannel()];
    const leaving = new AbortController();
    const [edit, look] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const refuse = (refused: PromiseWithResolvers<void>, limits?: readonly WriteLane[]) => async () => {
      setImmediate(refused.resolve);
      throw new SurfaceError("rate-limited", "slow down", { retryAfterMs: 60_000, limits });
    };
    const write = output.write;
    const limited = [
      write(surface, here, "progress", leaving.signal, refuse(edit), "edits"),
      // Something that is no write, such as a look into the thread, which only this caller has to repeat.
      write(surface, here, "final", leaving.signal, refuse(look, [])),
    ];
    await Promise.all([edit.promise, look.promise]);
    const { platform, workspace } = here;
    const pausedUntil = (lane: WriteLane) =>
      server.client().hget(keys.rateLimit({ platform, workspace, channel: "*" }, lane), "paused");
    await expect.poll(() => pausedUntil("edits")).not.toBeNull();
    const written = ["final", "question", "receipt", "mark"] as const;
    for (const urgency of written) {
      await write(surface, here, urgency, never, async () => urgency);
      await write(surface, elsewhere, urgency, never, async () => urgency);
    }
    expect(await pausedUntil("messages")).toBeNull();
    expect(await pausedUntil("marks")).toBeNull();
    const waits = write(surface, elsewhere, "question", leaving.signal, async () => "too early", "edits");
    const left = [...limited, waits].map((each) => expect(each).rejects.toThrow("enough"));
    leaving.abort(new Error("enough"));
    await Promise.all(left);
  });

  test("shares the edits that a workspace takes among all who work, and keeps room for what people wait for", async () => {
    // Time goes 25 times as fast, for Slack and for its budget of edits: a minute is 2.4 s.
    const speed = 25;
    const minuteMs = 60_000 / speed;
    const slack = createSlackSurface({ botToken: "", log: pino({ level: "silent" }) });
    const { budget = expect.fail("Slack limits nothing.") } = slack.limits;
    const edits = { ...budget.edits, intervalMs: budget.edits.intervalMs / speed };
    const surface = { ...slack, limits: { ...slack.limits, budget: { ...budget, edits } } };
    const outputs = [createRateLimiter(server.client()), createRateLimiter(server.client())];
    const workspace = `w${++channels}`;
    const threads = Array.from({ length: 12 }, (_, index) => {
      return { platform: "slack", workspace, channel: `c${index % 4}`, thread: `t${index}` };
    });
    const recent: number[] = [];
    let refused = 0;
    /** While it is set, no edit ends, nor begins. */
    let held: Promise<void> | undefined;
    /** Who has edited, in order. */
    const edited: string[] = [];
    const editAs = (who: string) => async () => {
      await held;
      const now = Date.now();
      while (recent[0] !== undefined && recent[0] <= now - minuteMs) recent.shift();
      recent.push(now);
      edited.push(who);
      if (recent.length <= 50) return;
      refused += 1;
      throw new SurfaceError("rate-limited", "slow down", { retryAfterMs: 100, limits: ["edits"] });
    };
    const over = new AbortController();
    const working = threads.map(async (thread, index) => {
      const output = outputs[index % 2] ?? expect.fail();
      await output.write(surface, thread, "progress", over.signal, async () => undefined);
      while (!over.signal.aborted) {
        const edit = editAs(thread.thread);
        await output.write(surface, thread, "progress", over.signal, edit, "edits").catch(() => undefined);
      }
    });
    // They begin one after the other, as the messages of a channel do.
    const begun = () => Math.max(...threads.map(({ thread }) => edited.indexOf(thread)));
    const all = () => threads.every(({ thread }) => edited.includes(thread));
    await expect
      .poll(() => all() && edited.length - begun(), { timeout: 20_000 })
      .toBeGreaterThan(4 * threads.length);
    // No receipt waits for an edit: they come while none ends.
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    await Promise.all(
      threads.map((thread, index) =>
        (outputs[index % 2] ?? expect.fail()).write(surface, thread, "receipt", never, async () => undefined),
      ),
    );
    held = undefined;
    resolve();
    const before = edited.length;
    const [thread = expect.fail()] = threads;
    await outputs[0]?.write(surface, thread, "question", never, editAs("a question"), "edits");
    // Each process may have been writing, or about to, when it was asked.
    expect(edited.indexOf("a question") - before).toBeLessThanOrEqual(threads.length);
    over.abort();
    await Promise.all(working);
    expect(refused).toBe(0);
    // At 45 edits a minute, in which the budget shares them out, that is every 25 s.
    for (const { thread: who } of threads)
      expect(longestGap(edited.slice(begun(), before), who)).toBeLessThanOrEqual(18);
  });

  test("pauses for as long as the longest of several answers says", async () => {
    const redis = server.client();
    const channel = newChannel();
    const pace = keys.rateLimit(channel, "messages");
    const paused = async (ms: number) => {
      await pauseScript.run(redis, [pace], [ms]);
      return Number(await redis.hget(pace, "paused")) - Date.now();
    };
    await paused(60_000);
    expect(await paused(1_000)).toBeGreaterThan(30_000);
    expect(await paused(600_000)).toBeGreaterThan(300_000);
    expect(await redis.pttl(pace)).toBeGreaterThan(600_000);
  });

  test("is not held up for long by somebody whose process died in line", async () => {
    const redis = server.client();
    const channel = newChannel();
    const [line, tickets] = [keys.waitQueue(channel, "messages"), keys.waitTickets(channel, "messages")];
    await redis.zadd(line, -1, "dead");
    await redis.zadd(tickets, Date.now() - 1, "dead");
    const output = createRateLimiter(redis);
    await output.write(surfaceWith(1, 1), channel, "final", never, async () => undefined);
    expect(await redis.zcard(line)).toBe(0);
    expect(await redis.zcard(tickets)).toBe(0);
  });

  test("is not held up by somebody who leaves the line", async () => {
    const scheduler = createRateLimiter(server.client());
    const surface = surfaceWith(1, 100);
    const channel = newChannel();
    const leaving = new AbortController();
    await scheduler.write(surface, channel, "final", never, async () => undefined);
    const left = scheduler.write(surface, channel, "final", leaving.signal, async () => "written");
    leaving.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
    expect(await server.client().zcard(keys.waitQueue(channel, "messages"))).toBe(0);
    await scheduler.write(surface, channel, "progress", never, async () => undefined);
  });
});

test.each([
  ["by the one that came late", false],
  ["by the one that shows the end, when the other has to leave", true],
])("A mark that comes late is put right %s", async (_by, leaves) => {
  const redis = server.client();
  const output = createRateLimiter(redis);
  const chat = memoryChat();
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slow: ChatSurface = {
    ...chat.surface,
    async mark(ref, mark) {
      reached.resolve();
      await goOn.promise;
      await chat.surface.mark(ref, mark);
    },
  };
  const ref = { ...newChannel(), message: "m1" };
  const leaving = new AbortController();
  const waiting = markMessage({ redis, output, surface: slow }, ref, "waiting", leaving.signal);
  await reached.promise;
  const answered = markMessage({ redis, output, surface: chat.surface }, ref, "answered", never);
  await chat.until(() => chat.marks.get("m1")?.includes("answered"));
  if (leaves) leaving.abort(new Error("leaving"));
  goOn.resolve();
  const [left] = await Promise.allSettled([waiting, answered]);
  expect(left.status).toBe(leaves ? "rejected" : "fulfilled");
  expect(chat.marks.get("m1")).toContain("waiting");
  expect(chat.marks.get("m1")?.at(-1)).toBe("answered");
});

test("A message that is answered at last is not shown as paused by whoever comes late", async () => {
  const redis = server.client();
  const output = createRateLimiter(redis);
  const chat = memoryChat();
  const [reached, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow: ChatSurface = {
    ...chat.surface,
    async mark(ref, mark, options) {
      reached.resolve();
      await goOn.promise;
      await chat.surface.mark(ref, mark, options);
    },
  };
  const ref = { ...newChannel(), message: "m1" };
  await markMessage({ redis, output, surface: chat.surface }, ref, "taken", never);
  const paused = markMessage({ redis, output, surface: slow }, ref, "answered", never, { paused: true });
  await reached.promise;
  const answered = markMessage({ redis, output, surface: chat.surface }, ref, "answered", never);
  await chat.until(() => chat.marks.get("m1")?.at(-1) === "answered");
  goOn.resolve();
  await Promise.all([paused, answered]);
  expect(chat.marks.get("m1")?.slice(0, 3)).toEqual(["taken", "answered", "paused"]);
  expect(chat.marks.get("m1")?.at(-1)).toBe("answered");
  const written = chat.marks.get("m1")?.length;
  // And one that has not begun to write leaves it as it is.
  await markMessage({ redis, output, surface: chat.surface }, ref, "answered", never, { paused: true });
  expect(chat.marks.get("m1")).toHaveLength(written ?? 0);
});

test("Receipts come within a second while Slack takes no edits of twenty threads that work", async () => {
  const slack = await startFakeSlack();
  const redis = server.client();
  const output = createRateLimiter(redis);
  const surface = createSlackSurface({
    ...{ botToken: slack.botToken, apiUrl: slack.url, log: pino({ level: "silent" }) },
  });
  const ending = new AbortController();
  const writers: Promise<unknown>[] = [];
  try {
    slack.fail("chat.update", { kind: "rate-limit", retryAfterSeconds: 20 }, 1_000);
    const threads = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        const general = slack.channel(`channel-${at % 4}`);
        const root = await slack.user("ada").says(general, `<@BOT> task ${at}`);
        const place = { platform: "slack", workspace: slack.teamId, channel: general.id };
        return { ...place, thread: root.ts };
      }),
    );
    for (const [at, thread] of threads.entries()) {
      const [ref] = await surface.post(thread, { kind: "notice", markdown: "Working" }, `p${at}`);
      if (!ref) throw new Error("Nothing was posted.");
      const edit = () => surface.edit(ref, { kind: "progress", markdown: "Working on" });
      const writing = output.write(surface, ref, "progress", ending.signal, edit, "edits");
      writers.push(writing.catch(() => undefined));
    }
    const updates = () => slack.calls.filter(({ method }) => method === "chat.update").length;
    await slack.until(updates);
    const edits = { platform: "slack", workspace: slack.teamId, channel: "*" };
    const paused = () => redis.hget(keys.rateLimit(edits, "edits"), "paused");
    await expect.poll(paused).not.toBeNull();
    const [pausedUntil, refused] = [await paused(), updates()];
    // At most one stop in a channel at a time: more would wait for the message a second that Slack takes there.
    await Promise.all(
      threads.slice(0, 4).map((thread, at) => {
        const receipt = { kind: "receipt", markdown: "Stopped." } as const;
        return output.write(surface, thread, "receipt", never, () => surface.post(thread, receipt, `r${at}`));
      }),
    );
    // All of them came in that pause: after it the edits are tried, refused, and paused for again.
    expect(await paused()).toBe(pausedUntil);
    expect(updates() - refused).toBeLessThan(5);
  } finally {
    ending.abort();
    await Promise.all(writers);
    await slack.close();
  }
});

test("The end of a message whose marker was killed in the middle does not wait long for it", async () => {
  const redis = server.client();
  const { surface } = memoryChat();
  const ref = { ...newChannel(), message: "m1" };
  const program = fileURLToPath(new URL("./killed-marker.ts", import.meta.url));
  const marker = fork(program, [server.path, JSON.stringify(ref)]);
  await once(marker, "message");
  marker.kill("SIGKILL");
  await once(marker, "exit");
  const [[, deadAt], [seconds]] = await Promise.all([
    redis.zrange(keys.marking(ref), "0", "-1", "WITHSCORES"),
    redis.time(),
  ]);
  expect(Number(deadAt) / 1_000 - Number(seconds)).toBeLessThan(5);
  const chat = { redis, output: createRateLimiter(redis), surface };
  await markMessage(chat, ref, "answered", never);
});

test("The end of a message waits for a slow writer of an earlier mark for as long as it takes", async () => {
  const redis = server.client();
  const output = createRateLimiter(redis);
  const [reached, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const chat = memoryChat({
    holdsMark(mark) {
      if (mark !== "taken") return undefined;
      reached.resolve();
      return goOn.promise;
    },
  });
  const ref = { ...newChannel(), message: "m1" };
  const by = { redis, output, surface: chat.surface };
  const leaving = new AbortController();
  const taken = markMessage(by, ref, "taken", leaving.signal);
  await reached.promise;
  const aliveUntil = async () => Number((await redis.zrange(keys.marking(ref), "0", "-1", "WITHSCORES"))[1]);
  const first = await aliveUntil();
  const answered = markMessage(by, ref, "answered", never);
  // For longer than it would be taken for alive if it said so only once.
  await expect.poll(() => redis.time().then(([seconds]) => Number(seconds) * 1_000)).toBeGreaterThan(first);
  await expect.poll(aliveUntil).toBeGreaterThan(first);
  leaving.abort(new Error("leaving"));
  goOn.resolve();
  await Promise.allSettled([taken, answered]);
  expect(chat.marks.get("m1")?.at(-1)).toBe("answered");
});

test("A message that somebody has deleted is marked without a complaint", async () => {
  const chat = memoryChat();
  const mark = async () => {
    throw new SurfaceError("gone", "message_not_found");
  };
  const by = {
    redis: server.client(),
    output: createRateLimiter(server.client()),
    surface: { ...chat.surface, mark },
  };
  await markMessage(by, { ...newChannel(), message: "m3" }, "taken", never);
  await markMessage(by, { ...newChannel(), message: "m3" }, "answered", never);
});

test("The end of what has waited for more than a day still takes the earlier mark away", async () => {
  const redis = server.client();
  const output = createRateLimiter(redis);
  const { surface } = memoryChat();
  const told: unknown[] = [];
  const watched: ChatSurface = { ...surface, mark: async (_ref, ...shown) => void told.push(shown) };
  const ref = { ...newChannel(), message: "m2" };
  await markMessage({ redis, output, surface: watched }, ref, "taken", never);
  await redis.del(keys.marked(ref));
  await markMessage({ redis, output, surface: watched }, ref, "answered", never);
  expect(told).toEqual([
    ["taken", { isFirst: true }],
    ["answered", { isFirst: false }],
  ]);
});

test("Downtime tells since when nobody listened, and which threads are alive", async () => {
  const redis = server.client();
  const hour = 3_600_000;
  let now = 1_000 * hour;
  const downtime = createDowntime(redis, () => now);
  expect(await downtime.lastConnectedAt("memory", "w")).toBeUndefined();
  await downtime.markConnected("memory", "w");
  const message = { role: "user", id: "m", author: { id: "U", name: "Ada" }, text: "hi", at: 1 } as const;
  for (const thread of ["memory:w:c:old", "memory:w:c:new", "memory:elsewhere:c:t"])
    await deliver(redis, thread, message, {
      onlyIfSession: false,
      now: thread.endsWith("old") ? now - 200 * hour : now,
    });
  now += hour;
  expect(await downtime.lastConnectedAt("memory", "w")).toBe(now - hour - 60_000);
  expect(await downtime.threads("memory", "w")).toEqual([
    { platform: "memory", workspace: "w", channel: "c", thread: "new" },
  ]);
  now += 100 * hour;
  expect(await downtime.lastConnectedAt("memory", "w")).toBe(now - 23 * hour);
});

describe("What Redis keeps of a channel's budget", () => {
  const acquire = loadScript(new URL("../../../src/queue/outbox/scripts/acquire-write.lua", import.meta.url));
  const minute = 60_000;

  test("tells the first to write, the next to wait for the budget, and nobody to wait for more than two others", async () => {
    const redis = server.client();
    const channel = newChannel();
    const scriptKeys = [
      keys.rateLimit(channel, "messages"),
      keys.waitQueue(channel, "messages"),
      keys.waitTickets(channel, "messages"),
    ];
    const waits: number[] = [];
    for (const ticket of ["a", "b", "c", "d", "e"])
      waits.push(Number(await acquire.run(redis, scriptKeys, [ticket, 0, 1, minute, 1])));
    // Of the first write some milliseconds have passed.
    expect(waits.map((wait) => Math.round(wait / minute))).toEqual([0, 1, 2, 3, 3]);
  });

  test("is forgotten some time after the last who wrote or waited", async () => {
    const redis = server.client();
    const channel = newChannel();
    const [pace, line, tickets] = [
      keys.rateLimit(channel, "messages"),
      keys.waitQueue(channel, "messages"),
      keys.waitTickets(channel, "messages"),
    ];
    const args = (ticket: string) => [ticket, 0, 2, minute, 2];
    await acquire.run(redis, [pace, line, tickets], args("a"));
    expect(await redis.pttl(pace)).toBeGreaterThan(2 * minute);
    expect(await redis.pttl(pace)).toBeLessThanOrEqual(3 * minute);
    await acquire.run(redis, [pace, line, tickets], args("b"));
    await acquire.run(redis, [pace, line, tickets], args("c"));
    for (const key of [line, tickets]) {
      expect(await redis.pttl(key)).toBeGreaterThan(minute);
      expect(await redis.pttl(key)).toBeLessThanOrEqual(2 * minute);
    }
    // Whoever waits is taken for dead only after the time at which it was to ask again.
    expect(Number(await redis.zscore(tickets, "c")) - Date.now()).toBeGreaterThan(minute);
  });

  test("outlives a pause, so that it is kept to the end", async () => {
    const redis = server.client();
    const channel = newChannel();
    const pace = keys.rateLimit(channel, "messages");
    await pauseScript.run(redis, [pace], [10 * minute]);
    expect(await redis.pttl(pace)).toBeGreaterThan(10 * minute);
    const asked = [pace, keys.waitQueue(channel, "messages"), keys.waitTickets(channel, "messages")];
    expect(Number(await acquire.run(redis, asked, ["a", 0, 5, 1, 5]))).toBeGreaterThan(9 * minute);
  });
});

test("The state of a mark is remembered for a day, and who writes it only while it may be alive", async () => {
  const redis = server.client();
  const mark = loadScript(new URL("../../../src/queue/outbox/scripts/mark.lua", import.meta.url));
  const ref = { platform: "memory", workspace: "w", channel: `c${++channels}`, message: "m1" };
  const scriptKeys = [keys.marked(ref), keys.marking(ref)];
  expect(await mark.run(redis, scriptKeys, ["working", 1, 86_400, "one", 30_000, ""])).toEqual([
    "working",
    0,
    "",
    "1",
  ]);
  expect(await redis.ttl(keys.marked(ref))).toBeGreaterThan(86_000);
  expect(await redis.pttl(keys.marking(ref))).toBeGreaterThan(20_000);
  // Of the same rank the first holds, and a lower one changes nothing.
  const replies = [
    await mark.run(redis, scriptKeys, ["done", 2, 86_400, "two", 0, ""]),
    await mark.run(redis, scriptKeys, ["failed", 2, 86_400, "two", 0, ""]),
    await mark.run(redis, scriptKeys, ["working", 1, 86_400, "one", 0, ""]),
  ];
  expect(replies).toEqual([
    ["done", 1, "working", "2"],
    ["done", 1, "done", "2"],
    ["done", 0, "done", "2"],
  ]);
});
