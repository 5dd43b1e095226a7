import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import type { ToolMessage } from "../../../src/agent/messages.ts";
import { createSandboxTools } from "../../../src/agent/tools/built-in.ts";
import type { Dispatcher } from "../../../src/agent/tools/dispatch/dispatch.ts";
import type { ToolServices } from "../../../src/agent/tools/tool.ts";
import { createBubblewrapBackend } from "../../../src/sandbox/bubblewrap/backend.ts";
import type { Sandbox, SandboxBackend } from "../../../src/sandbox/sandbox.ts";
import { dispatcherOf, memoryNotes, run } from "./services.ts";

/** A thread's workspace in a real sandbox, with the agent's tools on it. */
export interface Workspace {
  sandbox: Sandbox;
  dispatcher: Dispatcher;
  /** Calls a tool as the model does. */
  use(tool: string, input: unknown): Promise<ToolMessage>;
  /** Changes a file behind the agent's back. */
  put(path: string, content: string | Uint8Array): Promise<void>;
  content(path: string): Promise<string>;
}

export interface WorkspaceOptions {
  deliver?: NonNullable<ToolServices["deliver"]>;
  output?: (callId: string, chunk: string) => void;
}

/** Prepares a back end for the tests of a file; the function makes a new thread each time. */
export function workspaces(): (options?: WorkspaceOptions) => Promise<Workspace> {
  let folder: string;
  let backend: SandboxBackend;
  let threads = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "heddle-tools-"));
    // Open to walk through for the users of a root bot's sandboxes, or the workspaces would lie elsewhere.
    await chmod(folder, 0o711);
    backend = createBubblewrapBackend({ dataDir: folder });
  });
  afterAll(async () => {
    await backend.close();
    await rm(folder, { recursive: true, force: true });
  });

  return async ({ deliver, output } = {}) => {
    threads += 1;
    const sandbox = await backend.open(`test:w:c:${threads}`);
    const dispatcher = dispatcherOf({
      tools: createSandboxTools(),
      services: { sandbox, notes: memoryNotes(), now: Date.now, ...(deliver && { deliver }) },
      ...(output && { output }),
    });
    return {
      sandbox,
      dispatcher,
      use: (tool, input) => run(dispatcher, tool, input),
      async put(path, content) {
        const written = await sandbox.writeFile(path, Buffer.from(content));
        if (!written.ok) throw new Error(written.message);
      },
      async content(path) {
        const read = await sandbox.readFile(path);
        if (!read.ok) throw new Error(read.message);
        return read.data.toString();
      },
    };
  };
}
