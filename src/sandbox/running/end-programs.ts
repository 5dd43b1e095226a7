import { setTimeout as sleep } from "node:timers/promises";
import { type KillReport, nothingKilled } from "../sandbox.ts";
import { isAlive, listDescendants, type ProcessIdentity, readProcessStatus } from "../thread/processes.ts";
import type { RunningProgram } from "./registry.ts";

/** How long killed processes may take to disappear, in milliseconds. */
const unkillableAfterMs = 5_000;

/**
 * Ends programs that another process of this host has started and may never look after again, and looks until they are
 * gone. It acts on processes that stand still (SIGSTOP) as well.
 */
export async function endPrograms(programs: readonly RunningProgram[]): Promise<KillReport> {
  const reports = await Promise.all(programs.map(endProgram));
  return reports.reduce(
    (sum, { commands, processes, survivors }) => ({
      commands: sum.commands + commands,
      processes: sum.processes + processes,
      survivors: sum.survivors + survivors,
    }),
    nothingKilled,
  );
}

async function endProgram({ kind, outer, init }: RunningProgram): Promise<KillReport> {
  const giveUpAt = performance.now() + unkillableAfterMs;
  // So that it makes no child between the look and the kill: without its parent that one would be found no more.
  await freeze(outer, giveUpAt);
  const roots = [outer, ...(init ? [init] : [])].filter(isAlive);
  if (roots.length === 0) return nothingKilled;
  const below = roots.flatMap(({ pid }) => listDescendants(pid));
  const found = new Map([...below, ...roots].map((process) => [process.pid, process]));
  for (const process of found.values()) kill(process);
  while ([...found.values()].some(isAlive) && performance.now() < giveUpAt) await sleep(1);
  // What the kernel ends with the first process of a namespace has ended when that one has.
  const tenants = listTenants([...found.values()], outer, init);
  const isCommand = kind === "command" || kind === "job";
  return {
    commands: isCommand ? 1 : 0,
    processes: isCommand ? tenants.length : 0,
    survivors: [...found.values()].filter(isAlive).length,
  };
}

/** What runs inside: neither bwrap outside nor the first process of the namespace, which is bwrap too. */
function listTenants(
  found: readonly ProcessIdentity[],
  outer: ProcessIdentity,
  init: ProcessIdentity | undefined,
): ProcessIdentity[] {
  return found.filter(({ pid }) => pid !== outer.pid && pid !== init?.pid);
}

async function freeze(identity: ProcessIdentity, giveUpAt: number): Promise<void> {
  if (!isAlive(identity) || !signal(identity, "SIGSTOP")) return;
  while (performance.now() < giveUpAt) {
    const status = readProcessStatus(identity.pid);
    if (!status || status.zombie || status.stopped) return;
    await sleep(1);
  }
}

function kill(identity: ProcessIdentity): void {
  if (isAlive(identity)) signal(identity, "SIGKILL");
}

function signal({ pid }: ProcessIdentity, name: "SIGSTOP" | "SIGKILL"): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false; // It has ended.
  }
}
