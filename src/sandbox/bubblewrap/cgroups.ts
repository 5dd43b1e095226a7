import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SandboxLimits } from "../limits.ts";
import { type Cage, type Cages, watchingCages } from "./cages.ts";

type CagedLimits = Pick<SandboxLimits, "memoryBytes" | "processes" | "cpus">;

/** A group to make for each command. */
interface GroupPlan {
  /** Where it is made. */
  parent: string;
  settings: Record<string, string | number>;
  /** Written only where the kernel has them: not every kernel counts swap. */
  optional?: Record<string, string | number>;
}

/** One way to use control groups. */
interface Tier {
  summary: string;
  memory: GroupPlan;
  /** The file of the memory group that counts `oom_kill`. */
  oomFile: string;
  /** Version 1 has a tree for each controller. */
  others: GroupPlan[];
  /** Version 2 only: what a folder must pass on to the groups in it. */
  controllers?: string;
}

/** bwrap's two processes and what starts them do not count as the tenant's. */
const ownProcesses = 8;
const cpuPeriodUs = 100_000;

/** The strictest way that works here, tried with a real process. */
export async function findCages(limits: CagedLimits): Promise<Cages> {
  const groups = readFileSync("/proc/self/cgroup", "utf8");
  const mounts = readFileSync("/proc/mounts", "utf8");
  for (const tier of [unifiedTier(limits, groups, mounts), legacyTier(limits, groups, mounts)]) {
    if (tier === undefined) continue;
    sweep(tier);
    const cages: Cages = { summary: tier.summary, countsEverything: true, enclose: (pid) => enclose(tier, pid) };
    if (await works(cages)) return cages;
  }
  return watchingCages(limits.memoryBytes);
}

/** Tier 1: below a systemd unit that delegates to its subgroup (`DelegateSubgroup=`), or at the very top. */
function unifiedTier(limits: CagedLimits, groups: string, mounts: string): Tier | undefined {
  const mount = /^\S+ (\S+) cgroup2 /m.exec(mounts)?.[1];
  const own = /^0::(\/.*)$/m.exec(groups)?.[1];
  if (mount === undefined || own === undefined) return undefined;
  const isDelegated = /\.(service|scope)$/.test(dirname(own));
  if (own !== "/" && !isDelegated) return undefined;
  return {
    summary: "limits tier 1 (cgroup v2)",
    controllers: "+memory +pids +cpu",
    memory: {
      parent: join(mount, dirname(own)),
      settings: {
        "memory.max": limits.memoryBytes,
        "memory.oom.group": 1,
        "pids.max": limits.processes + ownProcesses,
        "cpu.max": `${limits.cpus * cpuPeriodUs} ${cpuPeriodUs}`,
      },
      optional: { "memory.swap.max": 0 },
    },
    oomFile: "memory.events",
    others: [],
  };
}

/** Tier 2: cgroup v1, which only root can write. */
function legacyTier(limits: CagedLimits, groups: string, mounts: string): Tier | undefined {
  const folderOf = (controller: string): string | undefined => {
    const mount = new RegExp(`^\\S+ (\\S+) cgroup \\S*\\b${controller}\\b`, "m").exec(mounts)?.[1];
    const own = new RegExp(`^\\d+:(?:\\S+,)?${controller}(?:,\\S+)?:(/.*)$`, "m").exec(groups)?.[1];
    if (mount === undefined || own === undefined) return undefined;
    // In a container the path may be the host's while the mount is already the container's own group.
    return existsSync(join(mount, own)) ? join(mount, own) : mount;
  };
  const memory = folderOf("memory");
  const pids = folderOf("pids");
  const cpu = folderOf("cpu");
  if (memory === undefined || pids === undefined || cpu === undefined) return undefined;
  return {
    summary: "limits tier 2 (cgroup v1)",
    memory: {
      parent: memory,
      settings: { "memory.limit_in_bytes": limits.memoryBytes },
      optional: { "memory.memsw.limit_in_bytes": limits.memoryBytes },
    },
    oomFile: "memory.oom_control",
    others: [
      { parent: pids, settings: { "pids.max": limits.processes + ownProcesses } },
      {
        parent: cpu,
        settings: { "cpu.cfs_period_us": cpuPeriodUs, "cpu.cfs_quota_us": limits.cpus * cpuPeriodUs },
      },
    ],
  };
}

/** @throws when a group cannot be made; nothing of it is left then */
function enclose(tier: Tier, pid: number): Cage {
  const name = randomBytes(6).toString("hex");
  const plans = [tier.memory, ...tier.others];
  const release = () => {
    for (const { parent } of plans) {
      remove(join(homeOf(parent), name));
      remove(homeOf(parent)); // Goes with the last group in it.
    }
  };
  try {
    for (const plan of plans) {
      const group = makeGroup(plan, name, tier.controllers);
      writeFileSync(join(group, "cgroup.procs"), String(pid));
    }
  } catch (error) {
    release();
    throw error;
  }
  const oomFile = join(homeOf(tier.memory.parent), name, tier.oomFile);
  return { memoryExceeded: () => countOf(oomFile, "oom_kill") > 0, release };
}

function countOf(file: string, counter: string): number {
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  return Number(new RegExp(`^${counter} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
}

function makeGroup({ parent, settings, optional = {} }: GroupPlan, name: string, controllers?: string): string {
  const home = homeOf(parent);
  const group = join(home, name);
  mkdirSync(group, { recursive: true });
  if (controllers !== undefined) {
    for (const above of [parent, home]) writeFileSync(join(above, "cgroup.subtree_control"), controllers);
  }
  for (const [file, value] of Object.entries(settings)) writeFileSync(join(group, file), String(value));
  for (const [file, value] of Object.entries(optional)) {
    if (existsSync(join(group, file))) writeFileSync(join(group, file), String(value));
  }
  return group;
}

/** Each process has a home for its groups, so that what a killed one left can be told from what is in use. */
function homeOf(parent: string, pid: number | string = process.pid): string {
  return join(parent, `heddle-${pid}`);
}

/** Removes the groups of processes that are no more. */
function sweep(tier: Tier): void {
  for (const { parent } of [tier.memory, ...tier.others]) {
    for (const entry of readdirSync(parent)) {
      const pid = /^heddle-(\d+)$/.exec(entry)?.[1];
      if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
      const home = homeOf(parent, pid);
      for (const group of readdirSync(home, { withFileTypes: true })) {
        if (group.isDirectory()) remove(join(home, group.name));
      }
      remove(home);
    }
  }
}

function remove(group: string): void {
  try {
    rmdirSync(group);
  } catch {
    // In use, or never made. What stays behind is empty, and the next start sweeps.
  }
}

async function works(cages: Cages): Promise<boolean> {
  const child = spawn("/bin/sh", ["-c", "read -r go"], { env: {}, stdio: ["pipe", "ignore", "ignore"] });
  const ended = once(child, "close");
  try {
    if (child.pid === undefined) return false;
    const cage = cages.enclose(child.pid);
    child.stdin.end();
    await ended;
    cage.release();
    return true;
  } catch {
    return false; // Not writable, not delegated, or a controller is missing.
  } finally {
    child.stdin.end();
    await ended;
  }
}
