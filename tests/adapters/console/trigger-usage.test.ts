import { afterAll, beforeAll, expect, test } from "vitest";
import type { UserMessage } from "../../../src/agent/messages.ts";
import { noUsage } from "../../../src/agent/model.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { createBudgets } from "../../../src/queue/budgets/budgets.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { call as request } from "./requests.ts";
import { startConsole, type TestConsole } from "./start-console.ts";

const triggerBudgets = {
  alerts: { cost: 4 },
  unused: { tokens: 1_000 },
  "watch:slack:T1:C1": { cost: 1, tokens: 5_000 },
};

let console: TestConsole;
beforeAll(async () => {
  console = await startConsole({ triggerBudgets });
});
afterAll(() => console[Symbol.asyncDispose]());

/** The turn of a trigger, or of what was said in a watched channel. */
async function spend(trigger: string, cost: number, more: Partial<UserMessage> = {}): Promise<void> {
  const budgets = createBudgets({
    ...{ redis: console.redis.client(), now: Date.now, warn: () => {} },
    settings: settingsSchema.parse({}).budgets,
    triggers: new Map(Object.entries(triggerBudgets)),
    onError(error) {
      throw error;
    },
  });
  const message: UserMessage = {
    ...{ role: "user", id: "m", author: { id: "U1", name: "Ada" }, text: "", at: 0, trigger },
    ...more,
  };
  const turn = { ...{ id: "t", startedAt: 0, since: 0, steps: 0, usage: noUsage, calls: [], waitedMs: 0 } };
  const reserved = await budgets
    .turnBudget("slack:T1:C1:1", { ...turn, asked: [message] })
    .reserve({ cost, tokens: 100 });
  if (!reserved.ok) throw new Error("No budget was left.");
  await reserved.settle({ ...noUsage, input: 100, cost, calls: 1 }, "anthropic/claude");
}

test("The report of usage tells what triggers and watched channels have used, and what is left to them today", async () => {
  await spend("alerts", 3);
  await spend("watch:slack:T1:C1", 0.5, { unaddressed: true });
  await console.redis.client().hset(keys.names, "slack:T1:C1", "ops");
  const { body } = await request(console.url, "/api/usage?days=1");
  const { triggers, budgets, users } = JSON.parse(body);
  expect(triggers).toMatchObject([
    { id: "alerts", cost: 3, turns: 1 },
    { id: "watch:slack:T1:C1", name: "ops", cost: 0.5, turns: 1 },
  ]);
  expect(budgets).toEqual([
    { dimension: "trigger", id: "alerts", measure: "cost", limit: 4, used: 3, held: 0 },
    ...(["cost", "tokens"] as const).map((measure) => ({
      ...{ dimension: "trigger", id: "watch:slack:T1:C1", name: "ops", measure, held: 0 },
      ...(measure === "cost" ? { limit: 1, used: 0.5 } : { limit: 5_000, used: 100 }),
    })),
    { dimension: "trigger", id: "unused", measure: "tokens", limit: 1_000, used: 0, held: 0 },
  ]);
  // What was only heard is on nobody's account.
  expect(users).toMatchObject([{ id: "slack:T1:U1", cost: 3 }]);
});
