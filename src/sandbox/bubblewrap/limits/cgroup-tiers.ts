import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SandboxLimits } from "../../limits.ts";

/** The limits that groups hold. */
export type GroupLimits = Pick<
  SandboxLimits,
  | "memoryBytes"
  | "processes"
  | "cpus"
  | "threadMemoryBytes"
  | "threadProcesses"
  | "allMemoryBytes"
  | "allProcesses"
>;

export type GroupSettings = Record<string, string | number>;

/** A group to make for each command, in one for its thread, in one for all threads. */
export interface GroupPlan {
  /** Where it is made. */
  parent: string;
  settings: GroupSettings;
  /** What a thread's commands may have together. */
  ofThread: GroupSettings;
  /** What all threads' commands may have together. */
  ofAll: GroupSettings;
  /** Written only where the kernel has them: not every kernel counts swap. */
  optional?: GroupSettings;
}

/** One way to use control groups. */
export interface Tier {
  summary: string;
  memory: GroupPlan;
  /** The file of the memory group that counts `oom_kill`. */
  oomFile: string;
  /** Version 1 has a tree for each controller. */
  others: GroupPlan[];
  /** Version 1 only: the file of a group by which a process with one thread can join it by itself. */
  entrance?: string;
  /** Version 2 only: what a folder must pass on to the groups in it. */
  controllers?: string;
}

/** bwrap's two processes and what starts them do not count as the tenant's. */
const ownProcesses = 8;
const cpuPeriodUs = 100_000;
/** Whole, as the kernel takes nothing else: 1.1 CPUs are no whole number of microseconds in binary. */
const quotaUs = ({ cpus }: GroupLimits) => Math.round(cpus * cpuPeriodUs);

/**
 * What might work here, the strictest first. Whether it does, only trying tells.
 *
 * @param groups the content of /proc/self/cgroup
 * @param mounts the content of /proc/mounts
 */
export function possibleTiers(limits: GroupLimits, groups: string, mounts: string): Tier[] {
  return [unifiedTier(limits, groups, mounts), legacyTier(limits, groups, mounts)].filter(
    (tier) => tier !== undefined,
  );
}

/** Tier 1: in a subgroup of a systemd unit that delegates (see unit-group.ts), or at the very top. */
function unifiedTier(limits: GroupLimits, groups: string, mounts: string): Tier | undefined {
  const mount = /^\S+ (\S+) cgroup2 /m.exec(mounts)?.[1];
  const own = /^0::(\/.*)$/m.exec(groups)?.[1];
  if (mount === undefined || own === undefined) return undefined;
  const isDelegated = /\.(service|scope)$/.test(dirname(own));
  if (own !== "/" && !isDelegated) return undefined;
  return {
    summary: "limits tier 1 (cgroup v2)",
    controllers: "+memory +pids +cpu",
    memory: {
      parent: own === "/" ? mount : join(mount, dirname(own)),
      settings: {
        "memory.max": limits.memoryBytes,
        "memory.oom.group": 1,
        "pids.max": limits.processes + ownProcesses,
        "cpu.max": `${quotaUs(limits)} ${cpuPeriodUs}`,
      },
      ofThread: {
        "memory.max": limits.threadMemoryBytes,
        "pids.max": limits.threadProcesses + ownProcesses,
      },
      ofAll: { "memory.max": limits.allMemoryBytes, "pids.max": limits.allProcesses + ownProcesses },
      optional: { "memory.swap.max": 0 },
    },
    oomFile: "memory.events",
    others: [],
  };
}

/** Tier 2: cgroup v1, which only root can write. */
function legacyTier(limits: GroupLimits, groups: string, mounts: string): Tier | undefined {
  const folderOf = (controller: string): string | undefined => {
    const mount = new RegExp(`^\\S+ (\\S+) cgroup \\S*\\b${controller}\\b`, "m").exec(mounts)?.[1];
    const own = new RegExp(`^\\d+:(?:\\S+,)?${controller}(?:,\\S+)?:(/.*)$`, "m").exec(groups)?.[1];
    if (mount === undefined || own === undefined) return undefined;
    // In a container the path may be the host's while the mount is already the container's own group.
    return own !== "/" && existsSync(join(mount, own)) ? join(mount, own) : mount;
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
      ofThread: { "memory.limit_in_bytes": limits.threadMemoryBytes },
      ofAll: { "memory.limit_in_bytes": limits.allMemoryBytes },
      optional: { "memory.memsw.limit_in_bytes": limits.memoryBytes },
    },
    oomFile: "memory.oom_control",
    entrance: "tasks",
    others: [
      {
        parent: pids,
        settings: { "pids.max": limits.processes + ownProcesses },
        ofThread: { "pids.max": limits.threadProcesses + ownProcesses },
        ofAll: { "pids.max": limits.allProcesses + ownProcesses },
      },
      {
        parent: cpu,
        settings: { "cpu.cfs_period_us": cpuPeriodUs, "cpu.cfs_quota_us": quotaUs(limits) },
        ofThread: {},
        ofAll: {},
      },
    ],
  };
}
