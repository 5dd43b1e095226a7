import { onTestFinished } from "vitest";
import { parseMcpConfig } from "../../../src/agent/mcp/config.ts";
import { openMcpPool } from "../../../src/agent/mcp/pool.ts";
import type { McpPool, McpPoolOptions } from "../../../src/agent/mcp/pool.ts";
import type { Tool, ToolResult } from "../../../src/agent/tools/tool.ts";

/** `mcp.json` entries as an operator writes them. */
export type Entries = Record<string, Record<string, unknown>>;

/** A pool that is closed when the test ends. */
export async function poolOf(
  entries: Entries,
  options: Omit<McpPoolOptions, "config"> = {},
): Promise<McpPool> {
  const config = parseMcpConfig(JSON.stringify({ mcpServers: entries }), process.env);
  const pool = await openMcpPool({ config, ...options });
  onTestFinished(() => pool.close());
  return pool;
}

/** An entry that runs the fixture as a process. */
export function stdioFixture(fixture: object = {}, env: Record<string, string> = {}) {
  const script = new URL("servers/stdio.ts", import.meta.url).pathname;
  return { command: process.execPath, args: [script], env: { FIXTURE: JSON.stringify(fixture), ...env } };
}

const never = new AbortController().signal;

export function listTools(pool: McpPool): Promise<Tool[]> {
  return pool.tools(never);
}

export async function toolNamed(pool: McpPool, name: string): Promise<Tool> {
  const tools = await listTools(pool);
  const tool = tools.find((candidate) => candidate.name === name);
  if (!tool) throw new Error(`no tool ${name} among ${tools.map((candidate) => candidate.name).join(", ")}`);
  return tool;
}

/** Runs a tool outside of a turn. */
export function run(
  tool: Tool,
  input: Record<string, unknown> = {},
  options: { signal?: AbortSignal; output?: (chunk: string) => void } = {},
): Promise<ToolResult> {
  return tool.run(input, {
    callId: "call-1",
    signal: options.signal ?? never,
    output: options.output ?? (() => {}),
    now: Date.now,
    notes: {
      add: () => Promise.reject(new Error("an MCP tool writes no notes")),
      list: () => Promise.resolve([]),
      update: () => Promise.resolve(undefined),
      remove: () => Promise.resolve(false),
    },
  });
}

/** Resolves when no process has this id any more. Ends with the test's own time limit otherwise. */
export async function processGone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    // A process tells nobody but its parent that it ended.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
