import { expect, test } from "vitest";
import { z } from "zod";
import type { McpOffer } from "../../src/agent/mcp/offer.ts";
import { defineTool } from "../../src/agent/tools/tool.ts";
import { findTooSmallModels } from "../../src/app/offer-size.ts";

const model = (id: string, contextTokens: number) => ({
  id,
  limits: { contextTokens, maxOutputTokens: 8_192, images: false },
});
const models = [model("small", 16_000), model("middle", 64_000), model("large", 1_000_000)];

const offerOf = (count: number): McpOffer => ({
  tools: Array.from({ length: count }, (_, n) =>
    defineTool({
      name: `crm__tool_${n}`,
      description: `Tool ${n} of the CRM. ${"It reads and writes customers, orders and invoices. ".repeat(9)}`,
      input: z.object({ customer: z.string().describe("the number of the customer, as the CRM has it") }),
      effect: "write",
      run: async () => ({ status: "ok", text: "" }),
    }),
  ),
  instructions: [],
  renew: async () => undefined,
});

test("what Heddle itself sends with every request fits into the smallest of windows", async () => {
  expect(await findTooSmallModels(models, { instructions: "", skills: [] })).toEqual([]);
});

test("the models for which prompt and tools are too large are named with what is large", async () => {
  const found = await findTooSmallModels(models, { instructions: "", skills: [], offered: offerOf(300) });
  expect(found).toHaveLength(2);
  expect(found[0]).toMatch(/^small: Prompt and tools take .* most of it: the tools of the MCP server crm \(/);
  expect(found[1]).toMatch(/^middle: /);
});

test("the operator's instructions count as well", async () => {
  const instructions = "Be kind to everybody, and say so. ".repeat(580);
  const [found] = await findTooSmallModels(models, { instructions, skills: [] });
  expect(found).toMatch(/^small: .* the operator's instructions \(/);
});
