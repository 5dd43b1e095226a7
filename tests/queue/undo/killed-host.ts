/**
 * A worker that carries out what was ordered in a thread, and is killed behind a step of it:
 * `killed-host.ts <socket of Redis> <data folder> <thread as JSON> <step>`. With `HEDDLE_FAULT` it is killed at a write.
 */
import { Redis } from "ioredis";
import type { ThreadRef } from "../../../src/chat/threads.ts";
import { openUndoHost } from "./undo-host.ts";

const [socket = "", dataDir = "", thread = "", step = ""] = process.argv.slice(2);
const host = await openUndoHost(
  { client: () => new Redis(socket, { maxRetriesPerRequest: null }) },
  {
    dataDir,
    thread: JSON.parse(thread) as ThreadRef,
    checkpoints: {
      async reached(reached) {
        if (reached === step) process.kill(process.pid, "SIGKILL");
      },
    },
  },
);
await host.run();
// It came to its end: whoever has started it expects otherwise.
process.exit(3);
