import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../agent/mcp/repository.ts";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { modelEnvironment } from "./environment.ts";
import { examine } from "./program.ts";
import { usePlace } from "./hooks.ts";

const here = usePlace();

const everything = join(
  dirname(
    createRequire(join(repository, "package.json")).resolve(
      "@modelcontextprotocol/server-everything/package.json",
    ),
  ),
  "dist/index.js",
);

test("Tools of an MCP server are called with its secrets, a broken server costs only itself, and skills are loaded", async () => {
  const servers = {
    everything: {
      command: "node",
      args: [everything],
      env: { TOKEN: "${MCP_TOKEN}" },
      sandbox: { read: [repository] },
    },
    broken: { command: "no-such-program" },
  };
  await writeFile(join(here.place.folder, "mcp.json"), JSON.stringify({ mcpServers: servers }));
  const model = await startFakeAnthropic();
  model.push(
    {
      content: [
        { type: "tool_use", name: "everything__echo", input: { message: "hello there" } },
        { type: "tool_use", name: "get_skill", input: { name: "csv-report" } },
      ],
    },
    { content: [{ type: "text", text: "Done." }] },
  );
  const env = {
    ...modelEnvironment(model),
    MCP_TOKEN: "mcp-secret-value",
  };
  const program = here.place.start(["run", "echo"], env);
  expect(await program.ended).toBe(0);
  const results = JSON.stringify(model.bodies[1]?.messages.at(-1));
  expect(results).toContain("hello there");
  expect(results).toContain("SKILL_DIR");
  expect(JSON.stringify(model.bodies[0]?.system)).toContain("csv-report");

  const doctor = await examine(() => here.place.start(["doctor"], env));
  expect(doctor.output()).toMatch(
    /mcp +everything: \w+, \d+ tools[\s\S]*! mcp +broken: \w+, 0 tools\. .*; correct its entry in \S+mcp\.json, or disable it[\s\S]*✓ skills/,
  );
  expect(program.output() + doctor.output()).not.toContain("mcp-secret-value");
  await model.close();
});
