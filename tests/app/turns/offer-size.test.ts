import { expect, test } from "vitest";
import { z } from "zod";
import type { McpOffer } from "../../../src/agent/mcp/offer.ts";
import type { ModelLimits } from "../../../src/agent/model.ts";
import { defineTool } from "../../../src/agent/tools/tool.ts";
import { findTooSmallModels } from "../../../src/app/turns/offer-size.ts";

const model = (id: string, contextTokens: number) => ({
  id,
  limits: { contextTokens, maxOutputTokens: 8_192, images: false } as ModelLimits,
});
const models = [model("small", 16_000), model("middle", 64_000), model("large", 1_000_000)];

const offerOf = (count: number, always: boolean): McpOffer => ({
  tools: Array.from({ length: count }, (_, n) =>
    defineTool({
      name: `crm__tool_${n}`,
      description: `Tool ${n} of the CRM. ${"It reads and writes customers, orders and invoices. ".repeat(9)}`,
      input: z.record(z.string(), z.unknown()),
      schema: { type: "object", properties: { customer: { type: "string" } } },
      always,
      effect: "external",
      run: async () => ({ status: "ok", text: "" }),
    }),
  ),
  instructions: [],
  renew: async () => undefined,
});
const find = (offered?: McpOffer, instructions = "", of = models) =>
  findTooSmallModels(of, { instructions, skills: [], ...(offered && { offered }) });

test("what Heddle itself sends with every request fits into the smallest of windows", async () => {
  expect(await find()).toEqual([]);
});

test("hundreds of tools fit into it as well, as they are found and not sent", async () => {
  expect(await find(offerOf(300, false))).toEqual([]);
});

test("the models for which tools that are always sent are too large are named with what is large", async () => {
  const found = await find(offerOf(300, true));
  expect(found).toHaveLength(2);
  expect(found[0]).toMatch(/^small: Prompt and tools take .* most of it: the tools of the MCP server crm \(/);
  expect(found[1]).toMatch(/^middle: /);
});

test("so are those whose service takes fewer", async () => {
  const { id, limits } = model("openai/few", 1_000_000);
  const [found, ...more] = await find(offerOf(140, true), "", [{ id, limits: { ...limits, tools: 128 } }]);
  expect(found).toMatch(/^openai\/few: .* at most 128 tools, .* crm__tool_139\.$/);
  expect(more).toEqual([]);
});

test("the operator's instructions count as well", async () => {
  const [found] = await find(undefined, "Be kind to everybody, and say so. ".repeat(580));
  expect(found).toMatch(/^small: .* the operator's instructions \(/);
});
