import { expect, test } from "vitest";
import { noUsage, type Usage } from "../../src/agent/llm/model.ts";
import { closingMessage } from "../../src/progress/describe.ts";

const footer = (usage: Partial<Usage>) =>
  closingMessage("t1", {
    outcome: { kind: "answered", text: "Yes.", steps: 1, usage: { ...noUsage, ...usage } },
    ...{ durationMs: 0, filesChanged: [], withdrawn: [] },
  }).footer;

test("The receipt tells the cost, and that it is at most so much where a price is unknown", () => {
  expect(footer({ input: 10, cost: 0.5 })).toBe("1 step · 10 tokens · $0.50");
  expect(footer({ input: 10, cost: 0.5, priceUnknown: true })).toBe("1 step · 10 tokens · at most $0.50");
});
