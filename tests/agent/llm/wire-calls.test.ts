import { expect, test } from "vitest";
import { parseArguments, readCall } from "../../../src/agent/llm/wire-calls.ts";
import { toWellFormed } from "../../../src/agent/text/text.ts";

const nested = (levels: number) => `{"x":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;

test("Arguments that nothing could walk through are malformed, as later turns would fail on them too", () => {
  expect(parseArguments(nested(100))).toBeDefined();
  expect(parseArguments(nested(101))).toBeUndefined();
  const call = readCall({ id: "c1", name: "bash", arguments: nested(50_000) });
  expect(call).toMatchObject({ input: {}, malformed: nested(50_000) });
  expect(toWellFormed(call)).toBe(call);
});
