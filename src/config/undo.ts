import { z } from "zod";
import { count } from "./values.ts";

/** What is kept of workspaces so that turns can be undone, in `heddle.yaml`. docs/undo.md explains it. */
export const undoSchema = z
  .strictObject({
    checkpoints: count(0, 1_000)
      .default(20)
      .describe(
        "checkpoints of a thread's files that are kept, one for each turn that writes; 0: nothing can be undone",
      ),
    megabytes: count(1, 1_048_576)
      .default(512)
      .describe("content kept for a thread; turns of a larger workspace cannot be undone"),
    days: count(1, 3650).default(7).describe("how long a checkpoint is kept"),
  })
  .prefault({});
