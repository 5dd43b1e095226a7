import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { chown, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Folder } from "./lifecycle-contracts.ts";

/** No archive takes longer to make; what is older was left by a killed process. */
const stagedMs = 86_400_000;

/** Where workspaces and archives are made, and where replaced workspaces wait for clean-up. */
export interface Staging {
  /** A path at which something can be made that the thread's sandbox can reach. */
  newPath(): string;
  /** A file that the thread's sandbox can read and write, gone afterwards. */
  withFile<Result>(folder: Folder, use: (file: string) => Promise<Result>): Promise<Result>;
  /** Keeps a folder that is not needed any more until clean-up; returns where. */
  moveToTrash(key: string, folder: string): string;
  /** Removes a folder. One that cannot be removed must not stop a clean-up: a tenant may have locked it. */
  discard(path: string): Promise<void>;
  /** Removes what killed processes left, and trash that is older than `idleMs`. */
  clean(idleMs: number): Promise<void>;
}

export function createStaging(root: string, log: (line: string) => void, now: () => number): Staging {
  const staging = join(root, "staging");
  const trash = join(root, "replaced");
  mkdirSync(trash, { recursive: true, mode: 0o700 });
  mkdirSync(staging, { recursive: true });
  chmodSync(staging, 0o711);

  const newPath = () => join(staging, `${process.pid}-${randomBytes(6).toString("hex")}`);

  async function discard(path: string): Promise<void> {
    try {
      await removeTree(path);
    } catch (error) {
      log(`${path} could not be removed: ${String(error)}`);
    }
  }

  return {
    newPath,
    discard,
    async withFile(folder, use) {
      const file = newPath();
      try {
        await (await open(file, "wx", 0o600)).close();
        if (folder.owner) await chown(file, folder.owner.uid, folder.owner.gid);
        return await use(file);
      } finally {
        await rm(file, { force: true });
      }
    },
    moveToTrash(key, folder) {
      const place = join(trash, `${key}-${now()}-${randomBytes(4).toString("hex")}`);
      renameSync(folder, place);
      return place;
    },
    async clean(idleMs) {
      for (const name of readdirSync(staging)) {
        const path = join(staging, name);
        const status = statSync(path, { throwIfNoEntry: false });
        if (status && Date.now() - status.mtimeMs > stagedMs) await discard(path);
      }
      for (const name of readdirSync(trash)) {
        const replacedAt = Number(name.split("-")[1]);
        if (now() - replacedAt >= idleMs) await discard(join(trash, name));
      }
    },
  };
}

const run = promisify(execFile);
const environment = { PATH: "/usr/bin:/bin" };

/**
 * By `rm`, in a process of its own: a tenant may have nested folders deeper than a path can name, and so many files that
 * this process would stand still.
 */
export async function removeTree(path: string): Promise<void> {
  const remove = () => run("rm", ["-rf", "--", path], { env: environment });
  try {
    await remove();
  } catch (error) {
    if (process.getuid?.() === 0) throw error; // No folder is shut to root.
    const unlock = ["-type", "d", "!", "-perm", "-u=rwx", "-execdir", "chmod", "u+rwx", "{}", ";"];
    await run("find", [path, ...unlock], { env: environment }).catch(() => {});
    await remove();
  }
}
