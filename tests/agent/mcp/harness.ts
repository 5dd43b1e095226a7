import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { parseMcpConfig } from "../../../src/agent/mcp/read-config.ts";
import { openMcpPool } from "../../../src/agent/mcp/pool.ts";
import type { McpPool, McpPoolOptions } from "../../../src/agent/mcp/pool.ts";
import { createBubblewrapBackend } from "../../../src/sandbox/bubblewrap/backend.ts";
import { createEgress } from "../../../src/sandbox/egress/egress.ts";
import type { SandboxBackend } from "../../../src/sandbox/sandbox.ts";
import type { Tool, ToolResult } from "../../../src/agent/tools/tool.ts";
import { repository, stdioServer } from "./repository.ts";

/** `mcp.json` entries as an operator writes them. */
export type Entries = Record<string, Record<string, unknown>>;

let backend: SandboxBackend | undefined;

/** Has the server processes of a file's tests run in sandboxes, as those of a worker do. */
export function useSandboxes(): void {
  let dataDir: string;
  beforeAll(() => {
    dataDir = openFolder(0o711);
    const rules = { allow: [], channels: {}, credentials: [] };
    const limits = { connections: 4, bytesPerDay: 1_000_000 };
    backend = createBubblewrapBackend({ dataDir, egress: createEgress({ rules, limits, log: () => {} }) });
  });
  afterAll(async () => {
    await backend?.close();
    backend = undefined;
    rmSync(dataDir, { recursive: true, force: true });
  });
}

/** A new folder with this mode. */
function openFolder(mode: number): string {
  const folder = mkdtempSync(join(tmpdir(), "heddle-mcp-"));
  chmodSync(folder, mode);
  return folder;
}

/** A folder of the host that every server may write in, also one that runs as a user of its own. */
export function sharedFolder(): string {
  const folder = openFolder(0o777);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A pool that is closed when the test ends. */
export async function poolOf(
  entries: Entries,
  options: Partial<Omit<McpPoolOptions, "config">> = {},
): Promise<McpPool> {
  const config = parseMcpConfig(JSON.stringify({ mcpServers: entries }), process.env);
  const pool = await openMcpPool({
    config,
    version: "1.2.3",
    ...(backend && { sandboxes: backend }),
    // A busy machine may take longer to start a server than an operator wants to wait.
    timeouts: { connectMs: 60_000 },
    patienceMs: 60_000,
    ...options,
  });
  onTestFinished(() => pool.close());
  return pool;
}

/** An entry that runs the fixture as a process. */
export function stdioFixture(fixture: object = {}, env: Record<string, string> = {}) {
  return {
    command: "node",
    args: [stdioServer],
    env: { FIXTURE: JSON.stringify(fixture), ...env },
    sandbox: { read: [repository] },
  };
}

/** A signal that is never aborted. */
export const never = new AbortController().signal;

export async function listTools(pool: McpPool): Promise<readonly Tool[]> {
  return (await pool.offer(never)).tools;
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
    await new Promise((done) => setTimeout(done, 5));
  }
}
