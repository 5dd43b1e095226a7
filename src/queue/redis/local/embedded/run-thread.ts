import { getCompileCacheDir } from "node:module";
import { Worker } from "node:worker_threads";
import type { RedisLog } from "../../server.ts";
import { RedisUnavailable } from "../../unavailable.ts";
import type { LocalRedisPaths } from "../paths.ts";
import type { EmbeddedOptions, EmbeddedServer } from "./server.ts";

/** What the server's thread says. */
export type ThreadMessage = { kind: "ready" } | { kind: "warning" | "unavailable"; text: string };

/** Large enough to be rare, small enough to be read again in a second. */
const rewriteBytes = 16 << 20;

/** What its thread is given. */
export type ThreadData = Omit<EmbeddedOptions, "compact" | "warn"> & {
  /** Where compiled modules are kept, if anywhere. */
  compileCache: string | undefined;
};

/**
 * What a command leaves behind is garbage at once. V8 would let it pile up to several times of what is stored; with
 * less room it collects as much, but earlier. The values themselves are outside this heap.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 4 };

/**
 * The embedded server in a thread of its own. The caller holds the folder's lock.
 * @throws {RedisUnavailable} when it cannot start
 */
export async function startEmbedded(paths: LocalRedisPaths): Promise<EmbeddedServer> {
  const workerData: ThreadData = {
    address: paths.embedded,
    folder: paths.embeddedFiles,
    oldSnapshot: paths.oldSnapshot,
    rewriteBytes,
    compileCache: getCompileCacheDir(),
  };
  const thread = new Worker(new URL("thread.ts", import.meta.url), {
    workerData,
    resourceLimits,
    // It needs none of our environment, which holds tokens, nor our flags, which may not suit a file.
    env: {},
    execArgv: [],
  });
  // Not with `once`, which fails when the thread does.
  const exited = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
  await waitForStart(thread, paths.log);
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

function waitForStart(thread: Worker, log: RedisLog): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  thread.on("message", (message: ThreadMessage) => {
    if (message.kind === "ready") resolve();
    else if (message.kind === "unavailable") reject(new RedisUnavailable(message.text));
    else log.warn(message.text);
  });
  // It is started again by whoever finds its connection closed: see keep-server.ts.
  thread.on("error", (error) => {
    log.warn(`The embedded Redis has failed: ${String(error)}.`);
    reject(new RedisUnavailable(`The embedded Redis failed at its start: ${String(error)}.`));
  });
  thread.once("exit", () => reject(new RedisUnavailable("The embedded Redis ended at its start.")));
  return promise;
}
