import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";
import { hasErrorCode } from "../../../sandbox/system-error.ts";
import type { StdioEndpoint } from "../config.ts";
import { graceMs, type StartServer } from "./server-process.ts";

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * Runs a server as Heddle's own user, which its entry must ask for (`"sandbox": false`).
 *
 * The SDK's own transport ends only the process that it started. Servers are usually started through `npx`,
 * `uvx` or a shell, whose children then stay behind; here the server gets a process group, and the group goes.
 * Its environment is that of the entry, on top of the few variables that the SDK considers safe.
 */
export function startUnconfined(server: StdioEndpoint): StartServer {
  return async (onOutput) => {
    const exited = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<string>();
    let running = true;
    let how = "its process ended";
    const child = spawn(server.command, server.args, {
      env: { ...getDefaultEnvironment(), ...server.env },
      cwd: server.cwd,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.once("exit", (code, signal) => {
      running = false;
      how = `its process ${signal ? `was ended by ${signal}` : `exited with code ${code}`}`;
      signalGroup(child, "SIGKILL");
      exited.resolve();
      // A daemon outside the group may hold the pipes open, and "close" would never come.
      setTimeout(() => dropOutput(child), graceMs).unref();
    });
    child.once("close", () => closed.resolve(how));
    child.stdin.on("error", () => {});
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream].on("data", (chunk: Buffer) => onOutput(stream, chunk));
    }
    await waitForSpawn(child, server.command);

    return {
      ended: closed.promise,
      hint: () => "",
      write(text) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        child.stdin.write(text, (error) => (error ? reject(error) : resolve()));
        return promise;
      },
      async stop() {
        if (!running) return;
        child.stdin.end();
        for (const signal of ["SIGTERM", "SIGKILL"] as const) {
          await Promise.race([exited.promise, grace()]);
          if (!running) break;
          signalGroup(child, signal);
        }
        await Promise.race([exited.promise, grace()]);
        dropOutput(child);
      },
    };
  };
}

const grace = () => sleep(graceMs, undefined, { ref: false });

async function waitForSpawn(child: Child, command: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.once("spawn", resolve);
  child.on("error", (error) => {
    const isMissing = hasErrorCode(error, "ENOENT");
    reject(isMissing ? new Error(`its command ${command} or its cwd does not exist`) : error);
  });
  await promise;
}

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
