import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OpenTurn } from "../../../src/agent/journal/history.ts";
import { noUsage, type Usage } from "../../../src/agent/model.ts";
import type { TurnBudget } from "../../../src/agent/contracts/turn-budget.ts";
import {
  type BudgetOptions,
  type BudgetSettings,
  createBudgets,
} from "../../../src/queue/budgets/budgets.ts";
import { createDayBudgets } from "../../../src/queue/budgets/state.ts";
import { readUsage } from "../../../src/queue/budgets/usage.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const unlimited: BudgetSettings = {
  ...{ timeZone: "UTC", keepDays: 10, extensionPercent: 50 },
  ...{ day: {}, user: {}, users: {}, channel: {}, channels: {} },
};
const dayMs = 86_400_000;
let startOfDay = Date.UTC(2026, 0, 1);

/** Budgets of a day that nobody has used anything of, kept by a worker of its own for each call of `open`. */
function newDay(settings: Partial<BudgetSettings>) {
  startOfDay += 40 * dayMs;
  let now = startOfDay + dayMs / 2;
  const warnings: string[] = [];
  const open = (more: Partial<BudgetOptions> = {}) =>
    createBudgets({
      redis: server.client(),
      settings: { ...unlimited, ...settings },
      now: () => now,
      warn: (thread, { markdown }) => warnings.push(`${thread} ${markdown}`),
      onError(error) {
        throw error;
      },
      ...more,
    });
  return {
    open,
    warnings,
    passes: (ms: number) => (now += ms),
    day: () => new Date(now).toISOString().slice(0, 10),
  };
}

const turnOf = (user: string): OpenTurn => ({
  ...{ id: "t", startedAt: 0, since: 0, steps: 0, usage: noUsage, calls: [], waitedMs: 0 },
  asked: [{ role: "user", id: "m", author: { id: user, name: user }, text: "", at: 0 }],
});

const ada = turnOf("U1");
const bob = turnOf("U2");
const general = "slack:T:C1:1.1";
const random = "slack:T:C2:1.1";

const used = (cost: number, input = 0): Usage => ({ ...noUsage, cost, input, calls: 1 });

async function hold(turnBudget: TurnBudget, cost: number, tokens = 0) {
  const reserved = await turnBudget.reserve({ cost, tokens });
  if (!reserved.ok) throw new Error(`Refused: ${reserved.usedUp.limit}`);
  return reserved;
}

async function spend(turnBudget: TurnBudget, usage: Usage): Promise<void> {
  await (await hold(turnBudget, usage.cost, usage.input)).settle(usage, "test/model");
}

async function refusal(turnBudget: TurnBudget, cost: number, tokens = 0): Promise<string | undefined> {
  const reserved = await turnBudget.reserve({ cost, tokens });
  if (!reserved.ok) return reserved.usedUp.limit;
  await reserved.settle(noUsage, "test/model");
  return undefined;
}

describe("A day's budget", () => {
  test("of a trigger pays for its turns only, beside the person's", async () => {
    const { open, day, warnings } = newDay({ user: { cost: 5 } });
    const budgets = open({ triggers: new Map([["alerts", { cost: 1 }]]) });
    const [message] = ada.asked;
    if (!message) throw new Error("no message");
    const from = (trigger: string) => ({ ...ada, asked: [{ ...message, trigger }] });
    await spend(budgets.turnBudget(general, from("alerts")), used(0.9));
    expect(await refusal(budgets.turnBudget(random, from("alerts")), 0.2)).toBe(
      "$1.00 a day for the trigger alerts",
    );
    expect(warnings).toHaveLength(0);
    expect(await refusal(budgets.turnBudget(random, from("deployments")), 0.2)).toBeUndefined();
    expect(await refusal(budgets.turnBudget(random, ada), 0.2)).toBeUndefined();
    const rows = await readUsage(server.client(), [day()]);
    expect(rows.find(({ dimension }) => dimension === "trigger")).toMatchObject({
      ...{ id: "alerts", turns: 1, usage: { cost: 0.9 } },
    });
    expect(rows.find(({ id }) => id === "slack:T:U1")?.usage.cost).toBeCloseTo(0.9, 9);
  });

  test("is never exceeded by what is set aside in parallel, and books to the last token what was used", async () => {
    const call = fc.record({
      worker: fc.nat(2),
      user: fc.constantFrom("U1", "U2"),
      channel: fc.constantFrom("C1", "C2"),
      cost: fc.integer({ min: 1, max: 400 }),
      tokens: fc.integer({ min: 1, max: 400 }),
      /** Percent of the estimate that is used in the end. */
      share: fc.integer({ min: 0, max: 100 }),
    });
    const limits = { all: 1_500, channel: 900, user: 700 };
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 25 }), async (calls) => {
        const { open, day } = newDay({
          day: { cost: limits.all / 1e6, tokens: limits.all },
          channel: { cost: limits.channel / 1e6 },
          user: { tokens: limits.user },
        });
        const workers = [open(), open(), open()];
        /** What is set aside or used at this moment, in millionths and in tokens. */
        const cost = { all: 0, C1: 0, C2: 0 };
        const tokens = { all: 0, U1: 0, U2: 0 };
        const take = (user: "U1" | "U2", channel: "C1" | "C2", by: { cost: number; tokens: number }) => {
          cost.all += by.cost;
          cost[channel] += by.cost;
          tokens.all += by.tokens;
          tokens[user] += by.tokens;
          expect(Math.max(cost.all, tokens.all)).toBeLessThanOrEqual(limits.all);
          expect(Math.max(cost.C1, cost.C2)).toBeLessThanOrEqual(limits.channel);
          expect(Math.max(tokens.U1, tokens.U2)).toBeLessThanOrEqual(limits.user);
        };
        await Promise.all(
          calls.map(async ({ worker, user, channel, share, ...estimate }) => {
            const turnBudget = workers[worker]?.turnBudget(`slack:T:${channel}:1.1`, turnOf(user));
            const reserved = await turnBudget?.reserve({
              cost: estimate.cost / 1e6,
              tokens: estimate.tokens,
            });
            if (!reserved?.ok) return;
            take(user, channel, estimate);
            const end = {
              cost: Math.floor((estimate.cost * share) / 100),
              tokens: Math.floor((estimate.tokens * share) / 100),
            };
            take(user, channel, { cost: end.cost - estimate.cost, tokens: end.tokens - estimate.tokens });
            await reserved.settle(used(end.cost / 1e6, end.tokens), "test/model");
          }),
        );
        const rows = await readUsage(server.client(), [day()]);
        const total = rows.find(({ dimension }) => dimension === "all");
        expect(total?.usage.cost ?? 0).toBeCloseTo(cost.all / 1e6, 9);
        expect(total?.usage.input ?? 0).toBe(tokens.all);
        for (const user of ["U1", "U2"] as const) {
          const row = rows.find(({ id }) => id === `slack:T:${user}`);
          expect(row?.usage.input ?? 0).toBe(tokens[user]);
        }
      }),
      { numRuns: 25 },
    );
  });

  test("of one person is not another's, and a channel's not another channel's", async () => {
    const budgets = newDay({ user: { cost: 1 }, channel: { tokens: 1_000 } }).open();
    await spend(budgets.turnBudget(general, ada), used(0.9));
    expect(await refusal(budgets.turnBudget(random, ada), 0.2)).toBe("$1.00 a day for one person");
    expect(await refusal(budgets.turnBudget(general, bob), 0.2)).toBeUndefined();
    await spend(budgets.turnBudget(general, bob), used(0, 900));
    expect(await refusal(budgets.turnBudget(general, bob), 0, 200)).toBe(
      "1,000 tokens a day for this channel",
    );
    expect(await refusal(budgets.turnBudget(random, bob), 0, 200)).toBeUndefined();
  });

  test("may be another one for some people and channels", async () => {
    const budgets = newDay({
      ...{ user: { cost: 1 }, users: { "slack:T:U2": { cost: 5 } } },
      ...{ channel: { tokens: 10 }, channels: { "slack:T:C2": {} } },
    }).open();
    expect(await refusal(budgets.turnBudget(random, ada), 3)).toBe("$1.00 a day for one person");
    expect(await refusal(budgets.turnBudget(random, bob), 3, 99)).toBeUndefined();
    expect(await refusal(budgets.turnBudget(general, bob), 3, 99)).toBe("10 tokens a day for this channel");
  });

  test("gets back what a dead worker has set aside, and keeps what a living one has", async () => {
    const { open } = newDay({ day: { cost: 1 } });
    const turnBudget = open().turnBudget(general, bob);
    const patient = { lapseMs: 1_000, onError() {} };
    const living = await hold(open(patient).turnBudget(general, ada), 0.4);
    const redis = server.client();
    const dead = await hold(open({ ...patient, redis }).turnBudget(general, ada), 0.4);
    redis.disconnect();
    expect(await refusal(turnBudget, 0.5)).toBe("$1.00 a day for everybody together");
    while (await refusal(turnBudget, 0.5));
    // It is older, and would have lapsed before.
    expect(await refusal(turnBudget, 0.7)).toBeDefined();
    await living.settle(noUsage, "test/model");
    expect(await refusal(turnBudget, 0.9)).toBeUndefined();
    await expect(dead.settle(noUsage, "test/model")).rejects.toThrow("closed");
  });

  test("is whole again at midnight in its time zone", async () => {
    const { open, passes } = newDay({ user: { cost: 1 }, timeZone: "Asia/Tokyo" });
    const turnBudget = open().turnBudget(general, ada);
    await spend(turnBudget, used(0.9));
    passes(2 * 3_600_000);
    expect(await refusal(turnBudget, 0.9)).toBeDefined();
    passes(3_600_000);
    expect(await refusal(turnBudget, 0.9)).toBeUndefined();
  });

  test("is warned of once, in the thread that has used most of it", async () => {
    const { open, warnings } = newDay({ channel: { cost: 1 } });
    const [one, other] = [open(), open()];
    await spend(one.turnBudget(general, ada), used(0.7));
    await spend(one.turnBudget(general, ada), used(0.15));
    expect(warnings).toEqual([]);
    await Promise.all([one, other, one].map((budgets) => refusal(budgets.turnBudget(general, ada), 0.01)));
    expect(warnings).toEqual([
      `${general} ⚠️ **80 % of the budget of $1.00 a day for this channel is used.** When it is used up I pause until midnight (UTC).`,
    ]);
  });

  test("is not warned of before four fifths of it are used", async () => {
    const { open, warnings } = newDay({ channel: { cost: 1 } });
    const turnBudget = open().turnBudget(general, ada);
    await spend(turnBudget, used(0.799));
    await refusal(turnBudget, 0.001);
    expect(warnings).toEqual([]);
    await spend(turnBudget, used(0.001));
    await refusal(turnBudget, 0.001);
    expect(warnings).toHaveLength(1);
  });

  test("is warned of together with each other one that is as far used", async () => {
    const { open, warnings } = newDay({ channel: { cost: 1 }, user: { tokens: 1_000 } });
    const turnBudget = open().turnBudget(general, ada);
    await spend(turnBudget, used(0.9, 900));
    await refusal(turnBudget, 0.01, 1);
    expect(warnings.toSorted()).toEqual([
      expect.stringContaining("$1.00 a day for this channel is used"),
      expect.stringContaining("1,000 tokens a day for one person is used"),
    ]);
  });

  test("is extended once for each turn that it has ended", async () => {
    const { open, passes } = newDay({ user: { cost: 1 } });
    const budgets = open();
    const turnBudget = budgets.turnBudget(general, ada);
    await spend(turnBudget, used(1));
    const refused = await turnBudget.reserve({ cost: 0.1, tokens: 1 });
    if (refused.ok) throw new Error("There was still room.");
    const { budget, extension, resets } = refused.usedUp;
    expect([extension, resets]).toEqual(["$0.50", "midnight (UTC)"]);
    expect(await budgets.extend(budget, "t1")).toBe("U1");
    await budgets.extend(budget, "t1");
    expect(await refusal(turnBudget, 0.5)).toBeUndefined();
    expect(await refusal(turnBudget, 0.6)).toBe("$1.50 a day for one person");
    await budgets.extend(budget, "t2");
    expect(await refusal(turnBudget, 1)).toBeUndefined();
    expect(budgets.isOfToday(budget)).toBe(true);
    passes(dayMs);
    expect(budgets.isOfToday(budget)).toBe(false);
    expect(await refusal(turnBudget, 1.5)).toBe("$1.00 a day for one person");
  });
});

test("A settlement that is sent twice is booked once", async () => {
  const { open, day } = newDay({});
  const reserved = await hold(open().turnBudget(general, ada), 1);
  for (const _ of [1, 2]) await reserved.settle(used(1), "test/model");
  const rows = await readUsage(server.client(), [day()]);
  expect(rows.find(({ dimension }) => dimension === "all")?.usage).toEqual(used(1));
});

test("The usage of a day is kept by person, channel and model, without any budget", async () => {
  const { open, day } = newDay({});
  const budgets = open();
  const adas = budgets.turnBudget(general, ada);
  const whole = { ...used(0.25, 10), output: 2, cacheRead: 3, cacheWrite: 4 };
  for (const model of ["test/one", "test/two"]) await (await hold(adas, 1)).settle(whole, model);
  await spend(budgets.turnBudget(random, ada), used(1));
  const rows = await readUsage(server.client(), [day()]);
  const figures = rows
    .toSorted((a, b) => (`${a.dimension} ${a.id}` < `${b.dimension} ${b.id}` ? -1 : 1))
    .map(({ dimension, id, usage, turns }) => [dimension, id, usage.cost, usage.calls, turns]);
  expect(figures).toEqual([
    ["all", "", 1.5, 3, 2],
    ["channel", "slack:T:C1", 0.5, 2, 1],
    ["channel", "slack:T:C2", 1, 1, 1],
    ["model", "test/model", 1, 1, 1],
    ["model", "test/one", 0.25, 1, 1],
    ["model", "test/two", 0.25, 1, 0],
    ["user", "slack:T:U1", 1.5, 3, 2],
  ]);
  const one = rows.find(({ id }) => id === "test/one");
  expect(one?.usage).toEqual(whole);
  // Nothing else is written, and it is forgotten some day.
  const fields = await server.client().hkeys(keys.usage(day()));
  expect(fields.filter((field) => !/^(all|(user|channel|model):\S+) [a-zA-Z]+$/.test(field))).toEqual([]);
  expect(await server.client().ttl(keys.usage(day()))).toBeGreaterThan(unlimited.keepDays * 80_000);
});

test("A person reads how much of the own budget of today is used, and others' budgets nowhere", async () => {
  const settings = { user: { cost: 2, tokens: 1_000 }, users: { "slack:T:U2": {} }, day: { cost: 100 } };
  const { open, day } = newDay(settings);
  await spend(open().turnBudget(general, ada), used(0.4, 250));
  const own = createDayBudgets(server.client(), { ...unlimited, ...settings }, () => Date.parse(day()));
  expect(await own.of("slack", "T", "U1")).toEqual([
    "$0.40 of $2.00 used",
    "250 tokens of 1,000 tokens used",
  ]);
  expect(await own.of("slack", "T", "U2")).toEqual([]);
});
