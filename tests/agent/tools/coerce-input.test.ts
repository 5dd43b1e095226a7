import { describe, expect, test } from "vitest";
import { z } from "zod";
import { parseArguments } from "../../../src/agent/llm/wire-calls.ts";
import { parseInput } from "../../../src/agent/tools/coerce-input.ts";

const schema = z.object({
  command: z.string(),
  timeout_seconds: z.number().int().max(600).optional(),
  limit: z.number().default(100),
  background: z.boolean().optional(),
  items: z.array(z.object({ text: z.string(), done: z.boolean().default(false) })).optional(),
  where: z.object({ path: z.string() }).optional(),
});

const parse = (input: object) => parseInput(schema, { command: "ls", ...input });

describe("Arguments whose meaning is plain are taken:", () => {
  test.each<[string, object, object]>([
    ["null for an option that is left out", { timeout_seconds: null, items: null }, { limit: 100 }],
    ["null for one with a default", { limit: null }, { limit: 100 }],
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

describe("Arguments that say something else are refused, as they were sent:", () => {
  test.each<[string, object]>([
    ["a word for a number", { timeout_seconds: "abc" }],
    ["null for what is required", { command: null }],
    ["a number for a text", { command: 30 }],
    ["a number in a string beyond the limit", { timeout_seconds: "601" }],
    ["a word for a boolean", { background: "perhaps" }],
    ["a text for a list", { items: "a, b" }],
    ["null within a list", { items: [null] }],
    ["an empty text for a number", { limit: "" }],
  ])("%s", (_what, input) => {
    expect(parse(input).success).toBe(false);
  });

  test("with the problem of what the model wrote", () => {
    expect(parse({ timeout_seconds: "abc", limit: "7" }).error?.issues.map(({ path }) => path)).toEqual([
      ["timeout_seconds"],
      ["limit"],
    ]);
  });
});
