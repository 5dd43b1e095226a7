import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { RedisLog } from "../../server.ts";
import { RedisUnavailable } from "../../unavailable.ts";
import type { LocalRedisPaths } from "../paths.ts";
import type { EmbeddedOptions, EmbeddedServer } from "./server.ts";

/** What the server's thread says. */
export type ThreadMessage = { kind: "ready" } | { kind: "warning" | "unavailable"; text: string };

/** Large enough to be rare, small enough to be read again in a second. */
const rewriteBytes = 16 << 20;

/**
 * The embedded server in a thread of its own. The caller holds the folder's lock.
 * @throws {RedisUnavailable} when it cannot start
 */
export async function startEmbedded(paths: LocalRedisPaths): Promise<EmbeddedServer> {
  const workerData: Omit<EmbeddedOptions, "compact" | "warn"> = {
    address: paths.embedded,
    folder: paths.embeddedFiles,
    oldSnapshot: paths.oldSnapshot,
    rewriteBytes,
  };
  // It needs none of our environment, which holds tokens, nor our flags, which may not suit a file.
  const thread = new Worker(new URL("thread.ts", import.meta.url), { workerData, env: {}, execArgv: [] });
  const exited = once(thread, "exit");
  await started(thread, paths.log);
  // A program with nothing else to do may end.
  thread.unref();
  return {
    async close() {
      thread.ref();
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      thread.postMessage("close");
      await exited;
    },
  };
}

function started(thread: Worker, log: RedisLog): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  thread.on("message", (message: ThreadMessage) => {
    if (message.kind === "ready") resolve();
    else if (message.kind === "unavailable") reject(new RedisUnavailable(message.text));
    else log.warn(message.text);
  });
  thread.on("error", (error) => {
    log.warn(`The embedded Redis has failed: ${String(error)}.`);
    reject(error);
  });
  thread.once("exit", () => reject(new RedisUnavailable("The embedded Redis ended at its start.")));
  return promise;
}
