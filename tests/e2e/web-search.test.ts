import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { modelEnvironment } from "./environment.ts";
import { useSetting } from "./hooks.ts";

/** The program searches with the search of its model's service, and pays for it out of the turn. */

const here = useSetting();

test("A task is looked up by the model's own service, beside the conversation, and its cost is the turn's", async () => {
  const address = "https://loom.example/heddle";
  const model = await startFakeAnthropic({
    replies(body) {
      const isSearch = body.tools?.some((tool) => "type" in tool);
      if (isSearch) {
        return {
          content: [
            { type: "server_tool_use", query: "heddle" },
            { type: "web_search_tool_result", found: [{ url: address, title: "Heddles" }] },
            { type: "text", text: "x", cites: [{ url: address, cited_text: "They lift threads." }] },
          ],
        };
      }
      return JSON.stringify(body.messages.at(-1)).includes(`Address: ${address}`)
        ? { content: [{ type: "text", text: `They lift threads (${address}).` }] }
        : { content: [{ type: "tool_use", name: "web_search", input: { query: "heddle" } }] };
    },
  });
  const settings = (extra: object) =>
    writeFile(join(here.place.folder, "heddle.yaml"), JSON.stringify({ web: { search: "model" }, ...extra }));
  const run = async () => {
    const env = { REDIS_URL: here.redis.path, ...modelEnvironment(model) };
    const program = here.place.start(["run", "--json", "What", "is", "a", "heddle?"], env);
    const code = await program.ended;
    const ends = program
      .output()
      .split("\n")
      .filter((line) => line.startsWith('{"type":"turn-end"'));
    return { code, output: program.output(), end: ends[0] ?? "" };
  };

  await settings({ models: { "anthropic/claude-sonnet-5-5": { webSearch: { price: 0.5 } } } });
  const found = await run();
  expect(found.code).toBe(0);
  expect(found.end).toContain(`They lift threads (${address}).`);
  expect(JSON.parse(found.end)).toMatchObject({ outcome: { usage: { calls: 3 } } });
  expect(Number(/"cost":([\d.]+)/.exec(found.end)?.[1])).toBeGreaterThan(0.5);
  const searches = model.bodies.filter(({ tools }) => tools?.some((tool) => "type" in tool));
  expect(searches).toHaveLength(1);
  expect(JSON.stringify(searches)).not.toContain("What is a heddle?");

  // At another address than the service's own it has none until the operator says so.
  await settings({});
  const before = model.bodies.length;
  await run();
  const [first] = model.bodies.slice(before);
  expect(JSON.stringify(first?.system)).toContain("has no search of its own");
  expect(first?.tools?.some((tool) => tool.name === "web_search")).toBe(false);
  await model.close();
});
