import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasErrorCode } from "../../system-error.ts";
import { type GroupLimits, type GroupPlan, possibleTiers, type Tier } from "./cgroup-tiers.ts";
import { pollingLimits, type ResourceGroup, type ResourceGroups } from "./resource-group.ts";
import { findUnitGroup, leaveUnitGroup } from "./unit-group.ts";

/** The strictest way that works here, tried with a real process. */
export async function findResourceGroups(limits: GroupLimits): Promise<ResourceGroups> {
  const readGroups = () => readFileSync("/proc/self/cgroup", "utf8");
  const mounts = readFileSync("/proc/mounts", "utf8");
  leaveUnitGroup(findUnitGroup(readGroups(), mounts));
  for (const tier of possibleTiers(limits, readGroups(), mounts)) {
    const groups: ResourceGroups = {
      summary: tier.summary,
      countsEverything: true,
      attach: (pid) => attach(tier, pid),
    };
    if (await works(tier, groups)) return groups;
  }
  return pollingLimits(limits.memoryBytes);
}

/** @throws when a group cannot be made; nothing of it is left then */
function attach(tier: Tier, pid: number): ResourceGroup {
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

function makeGroup(
  { parent, settings, optional = {} }: GroupPlan,
  name: string,
  controllers?: string,
): string {
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

/** Removes the groups of processes that are no more, and what may still run in them. */
function sweep(tier: Tier): void {
  for (const { parent } of [tier.memory, ...tier.others]) {
    for (const entry of readdirSync(parent)) {
      const pid = /^heddle-(\d+)$/.exec(entry)?.[1];
      if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
      const home = homeOf(parent, pid);
      for (const group of ifThere(() => readdirSync(home, { withFileTypes: true }), [])) {
        if (!group.isDirectory()) continue;
        killMembers(join(home, group.name));
        remove(join(home, group.name));
      }
      remove(home);
    }
  }
}

function killMembers(group: string): void {
  // A process of another container's PID namespace shows as 0.
  const members = ifThere(() => readFileSync(join(group, "cgroup.procs"), "utf8"), "");
  for (const pid of members.split("\n").map(Number).filter(Boolean)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended meanwhile, as what a killed process leaves does by itself.
    }
  }
}

/** What is read there, or `absent` where another process, which starts at this moment, has swept it away. */
function ifThere<T>(read: () => T, absent: T): T {
  try {
    return read();
  } catch (error) {
    // ENODEV: the group went while its file was open.
    if (hasErrorCode(error, "ENOENT", "ENODEV")) return absent;
    throw error;
  }
}

function remove(group: string): void {
  try {
    rmdirSync(group);
  } catch {
    // In use, or never made. What stays behind is empty, and the next start sweeps.
  }
}

async function works(tier: Tier, groups: ResourceGroups): Promise<boolean> {
  const child = spawn("/bin/sh", ["-c", "read -r go"], { env: {}, stdio: ["pipe", "ignore", "ignore"] });
  const ended = once(child, "close");
  try {
    if (child.pid === undefined) return false;
    sweep(tier);
    const group = groups.attach(child.pid);
    child.stdin.end();
    await ended;
    group.release();
    return true;
  } catch {
    return false; // Not writable, not delegated, or a controller is missing.
  } finally {
    child.stdin.end();
    await ended;
  }
}
