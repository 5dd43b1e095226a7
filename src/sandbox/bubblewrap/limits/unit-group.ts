import { spawnSync } from "node:child_process";
import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { hasErrorCode } from "../../system-error.ts";
import { launchEnvironment } from "../command-line.ts";

/** The control group (version 2) of a systemd service in which this process is directly. */
export interface UnitGroup {
  unit: string;
  folder: string;
  /** The user whose own systemd runs the service; absent for the system's. */
  user?: string;
}

/**
 * @param groups the content of /proc/self/cgroup
 * @param mounts the content of /proc/mounts
 */
export function findUnitGroup(groups: string, mounts: string): UnitGroup | undefined {
  const mount = /^\S+ (\S+) cgroup2 /m.exec(mounts)?.[1];
  const own = /^0::(\/.*\.service)$/m.exec(groups)?.[1];
  if (mount === undefined || own === undefined) return undefined;
  const user = /\/user@(\d+)\.service\//.exec(own)?.[1];
  return { unit: basename(own), folder: join(mount, own), ...(user !== undefined && { user }) };
}

/**
 * Makes room for groups of commands: one that has processes of its own cannot pass its controllers on (cgroups(7),
 * "no internal processes"). Does what `DelegateSubgroup=heddle` does since systemd 254, so that `Delegate=` alone is
 * enough. Nothing is touched in a group that systemd has not given away, or that lacks the controllers.
 */
export function leaveUnitGroup(group: UnitGroup | undefined, delegated = isDelegated): void {
  if (group === undefined || !isUsable(group) || !delegated(group)) return;
  try {
    moveProcesses(group.folder, join(group.folder, "heddle"));
  } catch {
    // Whoever looks for a tier next finds this one closed, and says so.
  }
}

function isUsable({ folder }: UnitGroup): boolean {
  try {
    accessSync(join(folder, "cgroup.procs"), constants.W_OK);
    const controllers = readFileSync(join(folder, "cgroup.controllers"), "utf8").trim().split(" ");
    return ["cpu", "memory", "pids"].every((name) => controllers.includes(name));
  } catch {
    return false;
  }
}

/** Root may write everywhere, and a user to all groups of their own systemd: these must ask. */
function isDelegated({ unit, user }: UnitGroup): boolean {
  if (user === undefined && process.getuid?.() !== 0) return true;
  const whose = user === undefined ? [] : ["--user"];
  const { stdout } = spawnSync("systemctl", [...whose, "show", "--property=Delegate", "--value", unit], {
    env: { ...launchEnvironment, XDG_RUNTIME_DIR: `/run/user/${user ?? 0}` },
    encoding: "utf8",
    timeout: 2_000,
  });
  return stdout?.trim() === "yes";
}

/** What is started while others are moved needs another look. */
const looks = 5;

/** Moves every process of a group into a group within it. */
export function moveProcesses(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (let look = 0; look < looks; look += 1) {
    const pids = readFileSync(join(from, "cgroup.procs"), "utf8").split("\n").filter(Boolean);
    if (pids.length === 0) return;
    for (const pid of pids) move(pid, to);
  }
}

function move(pid: string, to: string): void {
  try {
    writeFileSync(join(to, "cgroup.procs"), pid);
  } catch (error) {
    // It has ended.
    if (!hasErrorCode(error, "ESRCH")) throw error;
  }
}
