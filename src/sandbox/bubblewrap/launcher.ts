import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, writeFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import type { RunningEntry } from "../running/registry.ts";
import type { ThreadFolder } from "../thread/host.ts";
import { readProcessStatus } from "../thread/processes.ts";
import { type LaunchRequest, upkeep } from "../thread/spawner.ts";
import { buildCommandLine, launchEnvironment } from "./command-line.ts";
import type { LaunchSite } from "./launch-site.ts";
import type { ResourceGroup } from "./limits/resource-group.ts";
import type { OutputPipe } from "./pipes.ts";

/** A shell that becomes bwrap as soon as it gets a line on the status descriptor. */
export interface Launcher {
  child: ChildProcess;
  stdout: OutputPipe;
  stderr: OutputPipe;
}

/** @throws what the operating system refuses; the group is given up then */
export function spawnLauncher(
  site: LaunchSite,
  folder: ThreadFolder,
  request: LaunchRequest,
  group: ResourceGroup,
): Launcher {
  const stdout = site.newPipe();
  const stderr = site.newPipe();
  const entrances: number[] = [];
  try {
    for (const file of group.entrances) entrances.push(openSync(file, "w"));
    const child = spawn("/bin/sh", buildCommandLine(site, folder, request, group), {
      ...folder.owner,
      cwd: "/",
      env: launchEnvironment,
      // Ctrl-C in the bot's terminal is for the bot, which then stops its sandboxes itself.
      detached: true,
      stdio: [
        request.stdin ? "pipe" : "ignore",
        stdout.writeEnd,
        request.mergeOutput ? stdout.writeEnd : stderr.writeEnd,
        "pipe",
        "pipe",
        // The launcher puts a copy of the status descriptor there.
        "ignore",
        request.environment ? "pipe" : "ignore",
        ...entrances,
      ],
    });
    return { child, stdout, stderr };
  } catch (error) {
    group.release();
    throw error;
  } finally {
    for (const descriptor of [stdout.writeEnd, stderr.writeEnd, ...entrances]) closeSync(descriptor);
  }
}

/**
 * What must be before the launcher gets its word to go: its limits, and the note that it runs. Undefined when it must not
 * start.
 *
 * @throws when that cannot be; nothing of the launcher is left then
 */
export function prepareStart(
  site: LaunchSite,
  folder: ThreadFolder,
  { origin = upkeep }: LaunchRequest,
  { launcher: { child }, pid, group }: { launcher: Launcher; pid: number; group: ResourceGroup },
): RunningEntry | undefined {
  let entry: RunningEntry | undefined;
  try {
    group.admit(pid);
    offerToKernel(pid);
    // It waits, so it is there.
    const startTime = readProcessStatus(pid)?.startTime ?? 0;
    entry = site.running.enter(folder.key, { ...origin, outer: { pid, startTime } });
    return entry;
  } finally {
    if (!entry) {
      child.kill("SIGKILL");
      child.once("exit", () => group.release());
    }
  }
}

/**
 * When the host runs out of memory, the kernel takes what runs in sandboxes first. What a process with
 * CAP_SYS_RESOURCE has set, as root's usually, no command can take back.
 */
function offerToKernel(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, "1000");
  } catch {
    // The host does not allow it; the limits of memory are others.
  }
}

/** One of the launcher's further descriptors. */
export function pipeOf(child: ChildProcess, descriptor: number): Duplex {
  // Beyond the first three, a "pipe" is a socket that goes both ways, which the types do not say.
  return child.stdio[descriptor] as Duplex;
}
