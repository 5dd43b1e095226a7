import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, lstatSync, readFileSync, readlinkSync } from "node:fs";
import { basename, delimiter, join, resolve } from "node:path";
import type { SandboxLimits } from "../limits.ts";
import type { Problem } from "../sandbox.ts";
import {
  createThreadFolders,
  type Host,
  isReachableByAll,
  makeFolder,
  makeRoot,
  type UserRange,
} from "../thread/host.ts";
import { isOutOfFiles } from "../system-error.ts";
import { writeShown } from "../thread/shown-files.ts";
import { launchEnvironment } from "./command-line.ts";
import { nodeMount, pythonLink } from "./node.ts";
import { architectureOf } from "./syscalls.ts";

/** The first release with `--disable-userns`. */
const oldestVersion = [0, 8] as const;

/**
 * Finds out where and how sandboxes can run here. @throws only what the system refuses: to write to the disk, or to open
 * one more file
 */
export function inspectHost(options: {
  dataDir: string;
  limits: SandboxLimits;
  requiresGroups: boolean;
}): { ok: true; host: Host } | { ok: false; problem: Problem } {
  if (process.platform !== "linux") {
    return refuse(
      `The sandbox needs Linux; this is ${process.platform}.`,
      "Run Heddle on Linux, in a Linux virtual machine or container, or in WSL 2; for development by yourself, sandbox.backend: none in heddle.yaml runs commands without any isolation.",
    );
  }
  if (architectureOf(process.arch) === undefined) {
    return refuse(
      `There is no system call filter for the ${process.arch} architecture.`,
      "Run Heddle on x86-64 or arm64.",
    );
  }
  const version = bubblewrapVersion();
  if (version === undefined) {
    return refuse(
      "bubblewrap was not found.",
      "Install it: `apt-get install bubblewrap`, or the package of the same name elsewhere.",
    );
  }
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < oldestVersion[0] || (major === oldestVersion[0] && minor < oldestVersion[1])) {
    return refuse(
      `bubblewrap ${version} is too old.`,
      `Install bubblewrap ${oldestVersion.join(".")} or newer (Debian 12, Ubuntu 24.04 and later have it).`,
    );
  }
  if (!isInstalled("nsenter")) {
    return refuse(
      "nsenter was not found, with which the commands of a thread share a network.",
      "Install it: `apt-get install util-linux`, or the package of the same name elsewhere.",
    );
  }
  const isRoot = process.getuid?.() === 0;
  const users = isRoot ? sandboxUsers(readFileSync("/proc/self/uid_map", "utf8")) : undefined;
  if (isRoot && users === undefined) {
    return refuse(
      "Heddle runs as root in a container that has no spare user ids, and sandboxed code must not run as root.",
      "Run Heddle as an ordinary user, or map at least 60,000 user ids into the container.",
    );
  }
  const { root, relocated } = chooseRoot(resolve(options.dataDir), isRoot);
  return {
    ok: true,
    host: {
      limits: options.limits,
      requiresGroups: options.requiresGroups,
      version,
      root,
      relocated,
      ownUsers: users !== undefined,
      systemMounts: [
        ...systemMounts(),
        ...identityMounts(join(root, "etc", "identity")),
        ...nodeMount(root, (path) => users === undefined || isReachableByAll(path)),
        ...pythonLink(),
      ],
      ...createThreadFolders(root, users),
    },
  };
}

function refuse(what: string, fix: string): { ok: false; problem: Problem } {
  return { ok: false, problem: { what, fix } };
}

/** Waits for it: a program that is still being loaded would come back to its answer late, and it takes some 5 ms. */
function bubblewrapVersion(): string | undefined {
  const { stdout, error } = spawnSync("bwrap", ["--version"], { env: launchEnvironment, encoding: "utf8" });
  if (isOutOfFiles(error)) throw error;
  return /^bubblewrap (\d+\.\d+\S*)/.exec(stdout ?? "")?.[1];
}

/** Whether sandboxes can be started with that program. */
export function isInstalled(program: string): boolean {
  return launchEnvironment.PATH.split(delimiter).some((folder) => isExecutable(join(folder, program)));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Where a root bot finds one user per thread: on a host, above everything that systemd hands out
 * (0x70000000 and up); in a container with the usual 65,536 ids, above its ordinary users.
 */
function sandboxUsers(uidMap: string): UserRange | undefined {
  const ranges: UserRange[] = [
    { first: 0x70000000, count: 0x08000000 },
    { first: 30_000, count: 30_000 },
  ];
  const mapped = uidMap
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number));
  return ranges.find(({ first, count }) =>
    mapped.some(([inside = 0, , length = 0]) => inside <= first && first + count <= inside + length),
  );
}

/**
 * Sandboxes of a root bot run as other users, who must be able to walk to their workspaces: a data folder
 * under `/root` (0700) is out of their reach, and opening it to everybody is not ours to do.
 */
function chooseRoot(dataDir: string, isRoot: boolean): { root: string; relocated: boolean } {
  const relocated = isRoot && !isReachableByAll(dataDir);
  const name = createHash("sha256").update(dataDir).digest("hex").slice(0, 16);
  const root = relocated ? join("/var/lib/heddle", name) : dataDir;
  makeRoot(root);
  makeFolder(join(root, "etc"), 0o755);
  return { root, relocated };
}

/** `/usr`, and the top folders as links into it or, on systems without a merged `/usr`, as they are. */
function systemMounts(): string[] {
  const mounts = ["--ro-bind", "/usr", "/usr"];
  for (const folder of ["/bin", "/sbin", "/lib", "/lib64"]) {
    const status = lstatSync(folder, { throwIfNoEntry: false });
    if (status?.isSymbolicLink()) mounts.push("--symlink", readlinkSync(folder), folder);
    else if (status?.isDirectory()) mounts.push("--ro-bind", folder, folder);
  }
  for (const path of ["/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs"]) {
    mounts.push("--ro-bind-try", path, path);
  }
  return mounts;
}

/** Where sandboxes find what Heddle says of their user: a name that nobody mounts something else at. */
const identityFolder = "/etc/.heddle";

/**
 * Programs such as git, ssh and node look their own user up; the host's files are not theirs to see. One mount shows them
 * all, since each takes a tenth of a millisecond.
 */
function identityMounts(folder: string): string[] {
  makeFolder(folder, 0o755);
  const files = {
    passwd: "agent:x:1000:1000:agent:/workspace:/bin/bash\n",
    group: "agent:x:1000:\n",
    hosts: "127.0.0.1 localhost\n::1 localhost\n",
  };
  for (const [name, text] of Object.entries(files)) writeShown(join(folder, name), text);
  const inside = basename(identityFolder);
  const links = Object.keys(files).flatMap((name) => ["--symlink", `${inside}/${name}`, `/etc/${name}`]);
  return ["--ro-bind", folder, identityFolder, ...links];
}
