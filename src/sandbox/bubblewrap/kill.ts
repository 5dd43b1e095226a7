import type { KillReport } from "../sandbox.ts";
import { isAlive, listProcessesInNamespaces } from "../thread/processes.ts";
import type { Launch } from "./launch.ts";

/** Ends these and proves it: counts their processes before, kills, waits, and then looks for them again. */
export async function killLaunches(launches: readonly Launch[]): Promise<KillReport> {
  const found = launches.flatMap((launch) => launch.processes());
  for (const launch of launches) launch.kill("stopped");
  await Promise.all(launches.map((launch) => launch.ended));
  // A namespace ends with its first process, and its number may be a new one's at once: only what lasts is looked for.
  const namespaces = new Set(launches.flatMap((launch) => launch.init()?.namespace ?? []));
  // By number and by namespace: one may have been forked after the first look, another hide its namespace.
  const survivors = new Set(
    [...found.filter(isAlive), ...(namespaces.size > 0 ? listProcessesInNamespaces(namespaces) : [])].map(
      ({ pid }) => pid,
    ),
  );
  return {
    commands: launches.length,
    processes: found.length,
    survivors: survivors.size,
  };
}
