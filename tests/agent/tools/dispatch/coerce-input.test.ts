import { describe, expect, test } from "vitest";
import { z } from "zod";
import { parseArguments } from "../../../../src/agent/llm/wire-calls.ts";
import { parseInput } from "../../../../src/agent/tools/dispatch/coerce-input.ts";

const schema = z.object({
  command: z.string(),
  timeout_seconds: z.number().int().max(600).optional(),
  limit: z.number().default(100),
  background: z.boolean().optional(),
  items: z.array(z.object({ text: z.string(), done: z.boolean().default(false) })).optional(),
  where: z.object({ path: z.string() }).optional(),
  scope: z.enum(["thread", "channel"]).optional(),
});

const parse = (input: object) => parseInput(schema, { command: "ls", ...input }).parsed;

describe("Arguments whose meaning is plain are taken:", () => {
  test.each<[string, object, object]>([
    ["null for an option that is left out", { timeout_seconds: null, items: null }, { limit: 100 }],
    ["null for one with a default", { limit: null }, { limit: 100 }],
    ["null for a word of several", { scope: null }, { limit: 100 }],
    ["a number in a string", { timeout_seconds: "30", limit: " 2.5 " }, { timeout_seconds: 30, limit: 2.5 }],
    ["a boolean in a string", { background: "True" }, { background: true }],
    ["a list as JSON text", { items: '[{"text":"a"}]' }, { items: [{ text: "a", done: false }] }],
    ["and what is in it", { items: '[{"text":"a","done":"true"}]' }, { items: [{ text: "a", done: true }] }],
    ["an object as JSON text", { where: '{"path":"src"}' }, { where: { path: "src" } }],
    ["a text that looks like a number", { command: "30" }, { command: "30" }],
  ])("%s", (_what, input, expected) => {
    expect(parse(input)).toMatchObject({ success: true, data: expected });
  });

  test("null for an option is as if it were not there", () => {
    expect(parse({ timeout_seconds: null }).data).toEqual({ command: "ls", limit: 100 });
  });

  test("a whole object that was encoded twice", () => {
    expect(parseArguments(JSON.stringify(JSON.stringify({ path: "a" })))).toEqual({ path: "a" });
    expect(parseArguments('"just text"')).toBeUndefined();
  });
});

describe("Arguments that say something else are refused:", () => {
  test.each<[string, object]>([
    ["a word for a number", { timeout_seconds: "abc" }],
    ["null for what is required", { command: null }],
    ["a number for a text", { command: 30 }],
    ["a number in a string beyond the limit", { timeout_seconds: "601" }],
    ["a word for a boolean", { background: "perhaps" }],
    ["a text for a list", { items: "a, b" }],
    ["a word that is none of several", { scope: "world" }],
    ["null within a list", { items: [null] }],
    ["an empty text for a number", { limit: "" }],
  ])("%s", (_what, input) => {
    expect(parse(input).success).toBe(false);
  });

  test.each<[string, object, string]>([
    ["a word for a number", { timeout_seconds: "abc", limit: "7" }, "timeout_seconds: invalid_type"],
    ["a number beyond the limit", { timeout_seconds: "601" }, "timeout_seconds: too_big"],
    ["what is missing in a list", { items: '[{"done":"true"}]' }, "items.0.text: invalid_type"],
  ])("with nothing but what is wrong told: %s", (_what, input, problem) => {
    const issues = parse(input).error?.issues ?? [];
    expect(issues.map(({ path, code }) => `${path.join(".")}: ${code}`)).toEqual([problem]);
  });
});
