import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { SandboxLimits } from "../limits.ts";

/** The kernel user that a thread's processes run as and that owns its files; never 0. */
export interface Owner {
  uid: number;
  gid: number;
}

/**
 * The folder of one thread. The tenant sees `ws`, `tmp` and `shm` in it, and never the folder itself, nor `new`, where
 * files are that are being written.
 */
export interface ThreadFolder {
  path: string;
  /** The thread's name in the registry of what runs. */
  key: string;
  /** Absent when the bot is not root: then everything runs as the bot's own user. */
  owner?: Owner;
}

/** What this machine offers to sandboxes, found out once. */
export interface Host {
  limits: SandboxLimits;
  version: string;
  /** Holds `workspaces/`, `jobs/`, `etc/`, and what the parts of the sandbox keep beside them. */
  root: string;
  /** The root is not in the data folder, because sandbox users could not reach it there. */
  relocated: boolean;
  /** Whether threads run as users of their own, who cannot go wherever the bot can. */
  ownUsers: boolean;
  /** The operator wants limits that a control group holds, or no sandbox. */
  requiresGroups: boolean;
  /** bwrap arguments that show the system's programs, read-only. */
  systemMounts: readonly string[];
  /** The name of the thread's folder in `workspaces/`. */
  keyOf(threadId: string): string;
  /** Makes the thread's folder if need be; `path` is where, if not in `workspaces/`. */
  folderOf(threadId: string, path?: string): ThreadFolder;
}

/** A range of user ids that belong to nobody. */
export interface UserRange {
  first: number;
  count: number;
}

/** Makes what every kind of sandbox keeps in its root. */
export function makeRoot(root: string): void {
  makeFolder(root, 0o711);
  makeFolder(join(root, "workspaces"), 0o711);
  makeFolder(join(root, "jobs"), 0o700);
}

/**
 * What the self-test calls its thread. One for each user: the folder that `heddle doctor` makes as root is closed to a
 * Heddle that runs as somebody else.
 */
export function nameProbe(): string {
  return `probe of user ${process.getuid?.()}`;
}

/** Whether every existing folder on the way has the execute bit for others. */
export function isReachableByAll(path: string): boolean {
  let existing = path;
  while (!existsSync(existing)) existing = dirname(existing);
  for (let folder = realpathSync(existing); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/** Makes the folder with exactly this mode, whatever the umask; leaves the mode of an existing one alone. */
export function makeFolder(path: string, mode: number): void {
  const first = mkdirSync(path, { recursive: true, mode });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) chmodSync(made, mode);
}

/** How threads find their folders in a root. */
export function createThreadFolders(root: string, users?: UserRange): Pick<Host, "keyOf" | "folderOf"> {
  const keyOf = (threadId: string) => hashOf(threadId).slice(0, keyLength);
  return {
    keyOf,
    folderOf: (threadId, path = join(root, "workspaces", keyOf(threadId))) => ({
      ...prepareFolder(path, threadId, users),
      key: keyOf(threadId),
    }),
  };
}

const keyLength = 32;

function hashOf(threadId: string): string {
  return createHash("sha256").update(threadId).digest("hex");
}

function prepareFolder(
  path: string,
  threadId: string,
  users: UserRange | undefined,
): Omit<ThreadFolder, "key"> {
  const hash = hashOf(threadId);
  // Two threads may meet on one id; namespaces keep them apart, the id is the second wall.
  const uid =
    users === undefined ? undefined : users.first + (Number.parseInt(hash.slice(32, 40), 16) % users.count);
  for (const folder of [path, ...["ws", "tmp", "shm", "new"].map((name) => join(path, name))]) {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o700); // Also when a tenant has locked itself out of its workspace.
    if (uid !== undefined) chownSync(folder, uid, uid);
  }
  sweepNew(join(path, "new"));
  return uid === undefined ? { path } : { path, owner: { uid, gid: uid } };
}

/** No file is being written for longer. */
const staleMs = 600_000;

/** Removes what a bot that was killed has left. Without a sandbox commands can reach the folder, and leave anything in it. */
function sweepNew(folder: string): void {
  for (const name of readdirSync(folder)) {
    const status = lstatSync(join(folder, name), { throwIfNoEntry: false });
    if (!status || Date.now() - status.mtimeMs <= staleMs) continue;
    try {
      rmSync(join(folder, name), { recursive: true, force: true });
    } catch {
      // What a command has locked stays, and the thread goes on.
    }
  }
}
