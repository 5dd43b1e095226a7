import type { Redis } from "ioredis";
import { z } from "zod";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import type { Fields } from "../../agent/journal/schemas.ts";
import { readStored } from "../../queue/redis/unreadable.ts";
import { readPresence } from "../../queue/turns/worker-presence.ts";
import type { ProcessReport } from "../reports.ts";

export const processReport = z.looseObject({
  host: z.string(),
  pid: z.number(),
  role: z.string(),
  hash: z.string(),
  at: z.number(),
  problem: z.exactOptional(z.string()),
  restart: z.array(z.string()),
  asked: z.exactOptional(z.string()),
} satisfies Fields<ProcessReport>);

const parseReport = createStoredParser<ProcessReport>(processReport);

/** What the processes that were heard of in the last 15 s say of their configuration. */
export async function readConfigurations(redis: Redis): Promise<ProcessReport[]> {
  const present = await readPresence(redis, "processes");
  const reports = present.flatMap(
    ({ id, report }) => readStored(redis, parseReport, report, `Process ${id}`) ?? [],
  );
  return reports.toSorted((a, b) => a.host.localeCompare(b.host) || a.pid - b.pid);
}

/** What an operator should do something about, a sentence each. */
export function findConfigurationProblems(reports: readonly ProcessReport[]): string[] {
  const of = ({ role, pid, host }: ProcessReport) => `The ${role} with process id ${pid} on ${host}`;
  const problems = reports.flatMap((report) => [
    ...(report.problem === undefined
      ? []
      : [`${of(report)} refuses the changed configuration and keeps the one it has: ${report.problem}`]),
    ...(report.restart.length === 0
      ? []
      : [`${of(report)} needs a restart for changes of ${report.restart.join(", ")}.`]),
  ]);
  const hashes = new Set(reports.map(({ hash }) => hash));
  if (hashes.size < 2) return problems;
  const each = reports.map(({ role, pid, host, hash }) => `${hash} in the ${role} ${pid} on ${host}`);
  return [...problems, `The processes have different configurations: ${each.join(", ")}.`];
}
