/**
 * The embedded server's own thread: a busy program does not hold it up, nor does it hold up the program, and it ends
 * with the process at the same instant.
 */
import { once } from "node:events";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { z } from "zod";
import { RedisUnavailable } from "../../unavailable.ts";
import type { ThreadMessage } from "./run-thread.ts";

// In this thread only. The server copies each value into a small buffer; from the pool, each would keep 64 KiB alive.
Buffer.poolSize = 0;

const place = z.object({
  address: z.string(),
  folder: z.string(),
  oldSnapshot: z.string(),
  rewriteBytes: z.number(),
});
const parent = parentPort;
if (!parent) throw new Error("This file is a worker thread's.");
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const tell = (message: ThreadMessage) => parent.postMessage(message);

try {
  // After the line about buffers, for those that it makes at its start.
  const { serveEmbedded } = await import("./server.ts");
  const server = await serveEmbedded({
    ...place.parse(workerData),
    compact,
    warn: (text) => tell({ kind: "warning", text }),
  });
  parent.once("message", () => void server.close().then(() => parent.close()));
  tell({ kind: "ready" });
} catch (error) {
  if (!(error instanceof RedisUnavailable)) throw error;
  tell({ kind: "unavailable", text: error.message });
  parent.close();
}

/** In another thread, whose memory is given back. */
async function compact(before: number): Promise<void> {
  const { folder } = place.parse(workerData);
  const worker = new Worker(new URL("compact-thread.ts", import.meta.url), {
    workerData: { folder, before },
  });
  await once(worker, "exit");
}
