import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { findConfigurationProblems, readConfigurations } from "../operations/installation/configurations.ts";
import type { ProcessReport } from "../operations/reports.ts";
import { channels } from "../queue/redis/keys.ts";
import { printResult } from "./print-result.ts";
import { connectWithoutSettings } from "./without-settings.ts";

/** Between two looks at what the processes say, and how long they have, ms. */
const lookMs = 100;
const patienceMs = 10_000;

/** Has every process read its files again, and prints what became of it. */
export async function reloadConfig({ json }: { json?: true }): Promise<number> {
  // A wrong file is told by the processes: this command needs only to find Redis.
  const { server } = await connectWithoutSettings();
  try {
    const redis = server.connect();
    const asked = randomUUID();
    const until = Date.now() + patienceMs;
    await redis.publish(channels.configuration, `reload ${asked}`);
    const isDone = (report: ProcessReport) => report.asked === asked;
    let reports = await readConfigurations(redis);
    while (!reports.every(isDone) && Date.now() < until) {
      await delay(lookMs);
      reports = await readConfigurations(redis);
    }
    const problems = findConfigurationProblems(reports);
    const silent = reports.filter((report) => !isDone(report));
    const lines = [
      ...reports.map(
        ({ role, pid, host, hash, at }) =>
          `${role} ${pid} on ${host}: ${hash}, in force since ${new Date(at).toISOString()}`,
      ),
      ...silent.map(({ role, pid, host }) => `The ${role} ${pid} on ${host} has not answered yet.`),
      ...problems,
    ];
    const words = lines.join("\n") || "Heddle is not running.";
    printResult(json, { processes: reports, problems }, words);
    return reports.length > 0 && silent.length + problems.length === 0 ? 0 : 1;
  } finally {
    await server.close();
  }
}
