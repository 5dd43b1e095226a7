import { workspaceRoot } from "../sandbox.ts";
import type { ThreadFolder } from "../thread/host.ts";
import type { LaunchRequest } from "../thread/spawner.ts";
import { isShellCommand, shell } from "../thread/shell.ts";
import type { LaunchSite } from "./launch-site.ts";
import { enter, type ResourceGroup } from "./limits/resource-group.ts";
import { searchPath } from "./node.ts";

/** The whole environment of the processes outside: nothing in it is worth reading from /proc/1/environ. */
export const launchEnvironment = { PATH: "/usr/local/bin:/usr/bin:/bin" };

/** Descriptors that the launcher and bwrap get beside the three usual ones. */
export const filterDescriptor = 3;
export const statusDescriptor = 4;
/** Only for a program with variables of its own; behind the copy that the launcher makes of the status descriptor. */
export const environmentDescriptor = 6;
/** From here on the launcher has the entrances of its resource group, which it closes. */
const firstEntrance = 7;

/**
 * Runs before bwrap, as the thread's user: joins its resource group, or waits until the bot has moved it there, sets what is
 * inherited, and becomes bwrap.
 *
 * The status descriptor is one end of a socket pair whose other end only the bot holds. bwrap closes it inside,
 * so a copy goes on as descriptor 5 for the prelude. Units: `-f` 512 bytes, `-d` KiB (POSIX sh).
 */
function launcher(
  limits: { processMemoryBytes: number; fileBytes: number },
  { entrances }: Pick<ResourceGroup, "entrances">,
): string {
  const files = Math.ceil(limits.fileBytes / 512);
  const data = Math.ceil(limits.processMemoryBytes / 1024);
  const joins = enter(entrances.map((_file, index) => firstEntrance + index));
  return [
    `${joins} read -r go <&${statusDescriptor} || exit 125`,
    // A limit of the host that is already lower stays, silently.
    `{ ulimit -c 0; ulimit -n 4096; ulimit -f ${files}; ulimit -d ${data}; } 2>/dev/null`,
    `exec "$@" 5<&${statusDescriptor}`,
  ].join("; ");
}

/**
 * Runs inside, before the tenant's program and in one shell with a script, because starting another takes a millisecond:
 * whatever keeps these lines from running keeps what follows from it too. Arguments: process limit, folder, what follows.
 *
 * - End of file on descriptor 5 means that the bot died before bwrap asked the kernel to die with it.
 * - The process limit is set here because inside the user namespace it counts this sandbox alone.
 */
const prelude = [
  "if read -t 0 -u 5; then exit 125; fi",
  "exec 5>&-",
  'umask 022; ulimit -u "$1"',
  'cd -- "$2" || exit 1',
  "shift 2",
].join("; ");

/** The script counts its lines from its first, and has its own parameters. */
const runScript = `${prelude}; eval "shift; $1"`;
const runProgram = `${prelude}; exec "$@"`;

/**
 * What to hand to `/bin/sh` to run `program` in the thread's sandbox.
 *
 * A network can only be joined through the user namespace that owns it, and bwrap nests another one for `--dev`,
 * `--uid` and `--disable-userns`. So who holds a network does without these, and without the thread's files: it
 * runs nothing of the tenant's.
 */
export function buildCommandLine(
  site: Pick<LaunchSite, "limits" | "systemMounts">,
  folder: ThreadFolder,
  request: Pick<LaunchRequest, "program" | "cwd" | "fileBytes" | "view" | "network" | "environment">,
  group: Pick<ResourceGroup, "entrances">,
): string[] {
  const { limits } = site;
  const { program, network, view = [], environment } = request;
  return [
    "-c",
    launcher({ processMemoryBytes: limits.processMemoryBytes, fileBytes: request.fileBytes }, group),
    "sh",
    ...(typeof network === "number"
      ? ["nsenter", "--target", String(network), "--user", "--net", "--preserve-credentials", "--"]
      : []),
    "bwrap",
    ...["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"],
    ...(typeof network === "number" || network === "host" ? [] : ["--unshare-net"]),
    ...["--hostname", "sandbox", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"],
    ...["--dir", "/etc", ...site.systemMounts, "--proc", "/proc"],
    ...closedInProc.flatMap((path) => ["--ro-bind", "/dev/null", path]),
    // A shell that is not told what SHELL is reads the users of the system to find out.
    ...["--setenv", "PATH", searchPath, "--setenv", "SHLVL", "1", "--setenv", "SHELL", "/bin/bash"],
    ...(network === "hold" ? ["--dev-bind", "/dev/null", "/dev/null"] : tenantView(folder)),
    ...view,
    ...(environment ? ["--args", String(environmentDescriptor)] : []),
    ...["--remount-ro", "/"],
    ...["--seccomp", String(filterDescriptor), "--json-status-fd", String(statusDescriptor), "--"],
    ...[...shell, isShellCommand(program) ? runScript : runProgram, "bash", String(limits.processes)],
    ...[request.cwd, ...(isShellCommand(program) ? [program.script, ...program.parameters] : program)],
  ];
}

/**
 * The first process of the namespace is bwrap, as the tenant's user: whoever may write to its memory makes it tell an end
 * that is none, and outlive the bot.
 */
export const closedInProc = ["/proc/keys", "/proc/1/mem", "/proc/1/task/1/mem"];

/** What bwrap reads from {@link environmentDescriptor}: everybody on the host could read its command line. */
export function buildEnvironment(variables: LaunchRequest["environment"] = {}): string {
  return Object.entries(variables)
    .map(([name, value]) => `--setenv\0${name}\0${value}\0`)
    .join("");
}

function tenantView(folder: ThreadFolder): string[] {
  return [
    ...["--disable-userns", "--uid", "1000", "--gid", "1000", "--dev", "/dev", "--dir", "/run"],
    // A tmpfs would be memory without a limit on inodes; these are folders on disk.
    ...["--bind", `${folder.path}/shm`, "/dev/shm", "--bind", `${folder.path}/tmp`, "/tmp"],
    ...["--bind", `${folder.path}/ws`, workspaceRoot, "--setenv", "HOME", workspaceRoot],
    // Not LANG: every program would read a file of the locale for each of twelve categories that are C's anyway.
    ...["--setenv", "LC_CTYPE", "C.UTF-8", "--setenv", "TERM", "dumb"],
    // What git takes for the author unless the tenant configures another.
    ...["--setenv", "EMAIL", "agent@sandbox.invalid"],
    ...["--remount-ro", "/dev"],
  ];
}
