import { expect, onTestFinished, test } from "vitest";
import { poolOf, toolNamed } from "../mcp/harness.ts";
import { startHttpFixture } from "../mcp/servers/http.ts";
import { run } from "../turn.ts";

test("Calls of a trusted server's tools that only read run side by side", async () => {
  const meet = {
    name: "meet",
    inputSchema: { type: "object" as const },
    annotations: { readOnlyHint: true },
  };
  const fixture = await startHttpFixture("http", 0, { more: [meet] });
  onTestFinished(() => fixture.stop());
  const pool = await poolOf({ web: { url: fixture.url, type: "http", trust: true } });
  const tool = await toolNamed(pool, "web__meet");
  // None of the three ends before the last of them has begun.
  const { journal } = await run({
    tools: [tool],
    replies: [{ calls: [1, 2, 3].map(() => ({ name: "web__meet" })) }, { text: "Done." }],
  });
  const told = journal.flatMap(({ type }) => (type.startsWith("tool") ? [type] : []));
  expect(told).toEqual([...Array(3).fill("tool-start"), ...Array(3).fill("tool-result")]);
});
