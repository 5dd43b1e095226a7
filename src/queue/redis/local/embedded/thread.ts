/**
 * The embedded server's own thread: a busy program does not hold it up, nor does it hold up the program, and it ends
 * with the process at the same instant.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { enableCompileCache, flushCompileCache } from "node:module";
import { fileURLToPath } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import { RedisUnavailable } from "../../unavailable.ts";
import type { ThreadData, ThreadMessage } from "./run-thread.ts";

// In this thread only. The server copies each value into a small buffer; from the pool, each would keep 64 KiB alive.
Buffer.poolSize = 0;

// Only run-thread.ts starts this file.
const { compileCache, ...place } = workerData as ThreadData;
const parent = parentPort;
if (!parent) throw new Error("This file is a worker thread's.");
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const tell = (message: ThreadMessage) => parent.postMessage(message);
if (compileCache !== undefined) enableCompileCache(compileCache);

const serve = async (): Promise<void> => {
  try {
    // After the line about buffers, for those that it makes at its start.
    const { serveEmbedded } = await import("./server.ts");
    const server = await serveEmbedded({
      ...place,
      compact,
      warn: (text) => tell({ kind: "warning", text }),
    });
    parent.once("message", () => void server.close().then(() => parent.close()));
    tell({ kind: "ready" });
    // A thread does not do so at its end.
    flushCompileCache();
  } catch (error) {
    if (!(error instanceof RedisUnavailable)) throw error;
    tell({ kind: "unavailable", text: error.message });
    parent.close();
  }
};
// Not awaited, for the bundler (see main.ts).
void serve();

/**
 * In a process, because the allocator keeps most of what a thread has used. One that outlives this process does no
 * harm: it only adds a file that says the same as those before it.
 */
async function compact(before: number): Promise<void> {
  const program = fileURLToPath(new URL("compact-process.ts", import.meta.url));
  const args = ["--max-semi-space-size=4", program, place.folder, String(before)];
  const child = spawn(process.execPath, args, { env: {}, stdio: ["ignore", "ignore", "pipe"] });
  let problem = "";
  child.stderr.on("data", (chunk: Buffer) => (problem = `${problem}${String(chunk)}`.slice(-1_000)));
  // An error's own arguments are thrown; these are the exit code and the signal.
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  if (code !== 0) throw new Error(problem.trim() || `its process ended with ${signal ?? code}`);
}
