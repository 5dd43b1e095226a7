import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ReadBuffer, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { hasErrorCode } from "../../sandbox/system-error.ts";
import type { McpEndpoint } from "./config.ts";
import { describeError, joinLines } from "./failure.ts";

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** How long a server may take to exit after its input was closed, and again after SIGTERM. */
const graceMs = 1_000;
const keptStderr = 4_096;

export interface StdioTransport extends Transport {
  /** One clause on what went wrong: how the process ended, else `error`; with its last words on stderr. */
  explain(error: unknown): string;
}

/**
 * Runs a server as a process and talks to it over its standard streams.
 *
 * The SDK's own transport ends only the process that it started. Servers are usually started through `npx`,
 * `uvx` or a shell, whose children then stay behind; here the server gets a process group, and the group goes.
 * Its environment is that of the entry, on top of the few variables that the SDK considers safe.
 */
export function createStdioTransport(server: Extract<McpEndpoint, { kind: "stdio" }>): StdioTransport {
  const received = new ReadBuffer();
  const exited = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  let child: Child | undefined;
  let running = false;
  let stderr = "";
  /** How it exited unexpectedly. */
  let obituary: string | undefined;
  let closing: Promise<void> | undefined;

  const transport: StdioTransport = {
    start() {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const started = spawn(server.command, server.args, {
        env: { ...getDefaultEnvironment(), ...server.env },
        cwd: server.cwd,
        detached: true,
        stdio: ["pipe", "pipe", "pipe"],
      });
      child = started;
      running = started.pid !== undefined;
      started.once("spawn", resolve);
      started.on("error", reject);
      started.once("exit", (code, signal) => {
        running = false;
        if (!closing)
          obituary = `its process ${signal ? `was ended by ${signal}` : `exited with code ${code}`}`;
        signalGroup(started, "SIGKILL");
        exited.resolve();
        // A daemon outside the group may hold the pipes open, and "close" would never come.
        setTimeout(() => dropOutput(started), graceMs).unref();
      });
      started.once("close", () => {
        closed.resolve();
        transport.onclose?.();
      });
      started.stdin.on("error", (error) => transport.onerror?.(error));
      started.stdout.on("data", (chunk: Buffer) => void read(chunk));
      started.stderr.on("data", (chunk: Buffer) => {
        stderr = (stderr + chunk.toString("utf8")).slice(-keptStderr);
      });
      return promise;
    },

    async send(message) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      child?.stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
      try {
        await promise;
      } catch (error) {
        // A broken pipe mostly means that the process ended; its exit code and last words say more, if they come.
        await Promise.race([closed.promise, grace()]);
        throw error;
      }
    },

    close() {
      closing ??= child && running ? stop(child) : Promise.resolve();
      return closing;
    },

    explain(error) {
      const what = hasErrorCode(error, "ENOENT")
        ? `its command ${server.command} or its cwd does not exist`
        : describeError(error);
      const lastWords = joinLines(stderr.trimEnd().split("\n").slice(-3).join(" | ")).slice(-300);
      return (obituary ?? what) + (lastWords ? `; it wrote: ${lastWords}` : "");
    },
  };
  return transport;

  async function read(chunk: Buffer): Promise<void> {
    try {
      received.append(chunk);
    } catch (error) {
      // More than the SDK's 10 MB without a newline: nothing that follows can be understood.
      transport.onerror?.(toError(error));
      return await transport.close();
    }
    for (;;) {
      try {
        const message = received.readMessage();
        if (!message) return;
        transport.onmessage?.(message);
      } catch (error) {
        // Not a message, such as a log line on the wrong stream: skipped.
        transport.onerror?.(toError(error));
      }
      // The SDK handles notifications one microtask later: an answer in the same chunk must not overtake them.
      await Promise.resolve();
    }
  }

  async function stop(leader: Child): Promise<void> {
    leader.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      await Promise.race([exited.promise, grace()]);
      if (!running) break;
      signalGroup(leader, signal);
    }
    await Promise.race([exited.promise, grace()]);
    dropOutput(leader);
  }
}

const grace = () => sleep(graceMs, undefined, { ref: false });

/** Signals the process and all descendants that are still in its group. */
function signalGroup(child: Child, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // ESRCH: the group is empty, which is what we want.
  }
}

function dropOutput(child: Child): void {
  child.stdout.destroy();
  child.stderr.destroy();
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
