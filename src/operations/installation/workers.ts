import type { Redis } from "ioredis";
import { z } from "zod";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import type { Fields } from "../../agent/journal/schemas.ts";
import { readStored } from "../../queue/redis/unreadable.ts";
import { readPresence } from "../../queue/turns/worker-presence.ts";
import type { ModelFailure, WorkerReport } from "../reports.ts";

const optional = z.exactOptional;

const parseReport = createStoredParser<WorkerReport>(
  z.looseObject({
    host: z.string(),
    pid: z.number(),
    startedAt: z.number(),
    concurrency: z.number(),
    model: z.string(),
    modelFailures: optional(
      z.array(
        z.looseObject({
          ...{ model: z.string(), message: z.string(), detail: z.string() },
          ...{ at: z.number(), times: z.number() },
        } satisfies Fields<ModelFailure>),
      ),
    ),
    running: z.array(
      z.looseObject({ thread: z.string(), since: z.number(), title: optional(z.string()) } satisfies Fields<
        WorkerReport["running"][number]
      >),
    ),
    sandbox: z.looseObject({
      ok: z.boolean(),
      summary: z.string(),
      problems: z.array(z.looseObject({ what: z.string(), fix: z.string() })),
    }),
    mcp: z.array(
      z.looseObject({
        server: z.string(),
        state: z.string(),
        tools: z.array(z.string()),
        problem: optional(z.string()),
      } satisfies Fields<WorkerReport["mcp"][number]>),
    ),
  } satisfies Fields<WorkerReport>),
);

/** What the workers that were heard of in the last 15 s say of themselves. One that cannot be read is left out. */
export async function readWorkers(redis: Redis): Promise<WorkerReport[]> {
  const present = await readPresence(redis);
  return present.flatMap(({ id, report }) => readStored(redis, parseReport, report, `Worker ${id}`) ?? []);
}
