import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { hasErrorCode } from "../../system-error.ts";
import {
  type GroupLimits,
  type GroupPlan,
  type GroupSettings,
  possibleTiers,
  type Tier,
} from "./cgroup-tiers.ts";
import { createPollingLimits, enter, type ResourceGroup, type ResourceGroups } from "./resource-group.ts";
import { keepSpareGroups } from "./spare-groups.ts";
import { findUnitGroup, leaveUnitGroup } from "./unit-group.ts";

/** The strictest way that works here, tried with a real process. */
export async function findResourceGroups(limits: GroupLimits): Promise<ResourceGroups> {
  const readGroups = () => readFileSync("/proc/self/cgroup", "utf8");
  const mounts = readFileSync("/proc/mounts", "utf8");
  leaveUnitGroup(findUnitGroup(readGroups(), mounts));
  for (const tier of possibleTiers(limits, readGroups(), mounts)) {
    const groups: Omit<ResourceGroups, "close"> = {
      summary: tier.summary,
      countsEverything: true,
      make: (thread) => make(tier, thread),
    };
    if (await works(tier, groups)) return keepSpareGroups(groups);
  }
  return createPollingLimits(limits);
}

function make(tier: Tier, thread?: string): ResourceGroup {
  const name = randomBytes(6).toString("hex");
  const path = thread === undefined ? [name] : ["threads", thread, name];
  const plans = [tier.memory, ...tier.others];
  const release = () => {
    for (const { parent } of plans) {
      // Those above go with the last group in them.
      for (let depth = path.length; depth >= 0; depth -= 1) {
        remove(join(homeOf(parent), ...path.slice(0, depth)));
      }
    }
  };
  const made: string[] = [];
  try {
    for (const plan of plans) made.push(makeGroup(plan, path, tier.controllers));
  } catch (error) {
    release();
    throw error;
  }
  const { entrance } = tier;
  const oomFile = join(homeOf(tier.memory.parent), ...path, tier.oomFile);
  return {
    entrances: entrance === undefined ? [] : made.map((group) => join(group, entrance)),
    admit(pid) {
      if (entrance !== undefined) return;
      for (const group of made) writeFileSync(join(group, "cgroup.procs"), String(pid));
    },
    isThere: () => made.every((group) => existsSync(group)),
    exceeded: () => (countOf(oomFile, "oom_kill") > 0 ? "memory" : undefined),
    release,
  };
}

function countOf(file: string, counter: string): number {
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  return Number(new RegExp(`^${counter} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
}

/** @param path the names of the groups from the home on: of all threads, the thread and the command, or of the command */
function makeGroup(plan: GroupPlan, path: readonly string[], controllers?: string): string {
  const { parent, settings, ofThread, ofAll, optional = {} } = plan;
  const home = homeOf(parent);
  const limits = path.length > 1 ? [ofAll, ofThread, settings] : [settings];
  mkdirSync(home, { recursive: true });
  if (controllers !== undefined) passOn([parent, home], controllers);
  let group = home;
  for (const [index, name] of path.entries()) {
    group = join(group, name);
    if (existsSync(group)) continue;
    mkdirSync(group);
    write(group, limits[index] ?? {});
    if (index === path.length - 1) {
      write(
        group,
        Object.fromEntries(Object.entries(optional).filter(([file]) => existsSync(join(group, file)))),
      );
    } else if (controllers !== undefined) {
      passOn([group], controllers);
    }
  }
  return group;
}

function write(group: string, settings: GroupSettings): void {
  for (const [file, value] of Object.entries(settings)) writeFileSync(join(group, file), String(value));
}

function passOn(groups: readonly string[], controllers: string): void {
  for (const group of groups) writeFileSync(join(group, "cgroup.subtree_control"), controllers);
}

/** Processes are told apart by their numbers within a PID namespace: another container's are somebody else's. */
export const homePrefix = `heddle-${statSync("/proc/self/ns/pid", { throwIfNoEntry: false })?.ino ?? 0}-`;

/** Each process has a home for its groups, so that what a killed one left can be told from what is in use. */
function homeOf(parent: string, pid: number | string = process.pid): string {
  return join(parent, `${homePrefix}${pid}`);
}

/** Removes the groups of processes that are no more, and what may still run in them. */
function sweep(tier: Tier): void {
  for (const { parent } of [tier.memory, ...tier.others]) {
    for (const entry of readdirSync(parent)) {
      const pid = entry.startsWith(homePrefix) ? entry.slice(homePrefix.length) : "";
      if (pid === "" || existsSync(`/proc/${pid}`)) continue;
      sweepGroup(homeOf(parent, pid));
    }
  }
}

function sweepGroup(group: string): void {
  for (const within of ifThere(() => readdirSync(group, { withFileTypes: true }), [])) {
    if (within.isDirectory()) sweepGroup(join(group, within.name));
  }
  killMembers(group);
  remove(group);
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

async function works(tier: Tier, groups: Pick<ResourceGroups, "make">): Promise<boolean> {
  let group: ResourceGroup | undefined;
  let child: ChildProcess | undefined;
  const opened: number[] = [];
  try {
    sweep(tier);
    group = groups.make("try");
    opened.push(...group.entrances.map((file) => openSync(file, "w")));
    const script = `${enter(opened.map((_descriptor, index) => index + 3))} read -r go`;
    child = spawn("/bin/sh", ["-c", script], { env: {}, stdio: ["pipe", "ignore", "ignore", ...opened] });
    // What the group refuses ends before it reads.
    for (const part of [child, child.stdin]) part?.on("error", () => {});
    if (child.pid === undefined) return false;
    group.admit(child.pid);
    child.stdin?.end("go\n");
    const [code] = (await once(child, "close")) as [number | null];
    return code === 0;
  } catch {
    return false; // Not writable, not delegated, or a controller is missing.
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
    child?.stdin?.end();
    group?.release();
  }
}
