import { expect, test } from "vitest";
import { createContextWindow } from "../../../src/agent/context/compaction.ts";
import { describeLargeFixed } from "../../../src/agent/context/fixed-part.ts";
import { scriptedModel } from "../../fakes/scripted-model.ts";
import { counter, run, tool } from "../turn.ts";

await counter.load();

const describeTools = (count: number, usable: number) =>
  describeLargeFixed(
    {
      system: "You are Heddle.\n\n## From the operator\nBe brief.",
      tools: Array.from({ length: count }, (_, n) => ({
        name: n === 0 ? "bash" : `github__list_${n}`,
        description: "word ".repeat(100),
        schema: { type: "object" },
      })),
    },
    usable,
    counter,
  );

test("Prompt and tools are no matter while they take three fifths, and beyond it the largest are named", () => {
  expect(describeTools(10, 3_000)).toBeUndefined();
  expect(describeTools(30, 3_000)).toMatch(
    /^Prompt and tools take 3,\d+ of the 3,000 tokens .* most of it: the tools of the MCP server github \(3,\d+\), the built-in tools \(1\d\d\), the operator's instructions \(\d+\)\.$/,
  );
});

test("A turn that prompt and tools alone leave no room for says so, and asks no model", async () => {
  const { model, requests } = scriptedModel([]);
  const small = { ...model, limits: { ...model.limits, contextTokens: 2_000 } };
  const tools = Array.from({ length: 60 }, (_, n) =>
    tool(`github__${"list".repeat(8)}_${n}`, "read", async () => ""),
  );
  const { outcome } = await run({ model: small, tools });
  expect(outcome).toMatchObject({
    kind: "model-error",
    text: expect.stringMatching(/the tools of the MCP server github .* No conversation fits beside that/),
  });
  expect(requests).toEqual([]);
  const context = createContextWindow({ model: small, counter });
  expect(context.measureUsable()).toBe(1_500);
});
