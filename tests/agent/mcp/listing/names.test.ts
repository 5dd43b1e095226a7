import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toModelToolName } from "../../../../src/agent/mcp/listing/names.ts";

describe("the name that the model sees", () => {
  test("is server and tool, as they are, when that fits", () => {
    expect(toModelToolName("memory", "read_graph")).toBe("memory__read_graph");
  });

  test("keeps what it can of a name that does not fit, and adds a hash", () => {
    expect(toModelToolName("my server", "käse/brot")).toMatch(/^my_server__k_se_brot_[0-9a-f]{10}$/);
    expect(toModelToolName("s", "x".repeat(100))).toMatch(/^s__x{50}_[0-9a-f]{10}$/);
  });

  const name = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[a-c_.]{0,6}$/),
    fc.string({ minLength: 60, maxLength: 130 }),
  );

  test("is legal for every model API", () => {
    fc.assert(
      fc.property(name, name, (server, tool) => {
        expect(toModelToolName(server, tool)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      }),
    );
  });

  test("is shared by no two tools of any servers", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(name, name), { selector: String, minLength: 2 }), (pairs) => {
        const names = pairs.map(([server, tool]) => toModelToolName(server, tool));
        expect(new Set(names).size).toBe(pairs.length);
      }),
    );
  });
});
