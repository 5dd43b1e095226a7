import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";
import { openCopies, sweepCopies } from "../thread/copies.ts";

/** Where sandboxes find the Node that runs this program, and `python` where the host has that name for nothing. */
const nodeFolder = "/opt/heddle/bin";

const hostFolders = ["/usr/local/bin", "/usr/bin", "/bin"];

/**
 * Heddle's Node comes first. Scripts of skills are TypeScript, and the Node that Debian 12 and 13 and Ubuntu 24.04
 * bring runs none. Nothing but the name `node` is taken, and the host's own is still there as `/usr/bin/node`.
 */
export const searchPath = [nodeFolder, ...hostFolders].join(":");

/** bwrap arguments that name `python3` also `python`, as most skills and many people write, unless the host does. */
export function pythonLink(has: (path: string) => boolean = existsSync): string[] {
  const find = (name: string) => hostFolders.map((folder) => `${folder}/${name}`).find(has);
  const python3 = find("python3");
  return python3 === undefined || find("python") !== undefined
    ? []
    : ["--symlink", python3, `${nodeFolder}/python`];
}

/**
 * bwrap arguments that show the Node that runs this program, read-only. Sandboxes of a root bot run as users who
 * cannot walk to a Node below `/root`; they are shown a link or a copy of it.
 */
export function nodeMount(root: string, reachable: (path: string) => boolean): string[] {
  const own = realpathSync(process.execPath);
  const source = reachable(own) ? own : shareFile(own, join(root, "copies"));
  // Removed while Heddle runs, as by an upgrade, it is missing in sandboxes, and the host's own is found.
  return ["--ro-bind-try", source, `${nodeFolder}/node`];
}

/**
 * Puts a program where everybody can walk to. It is large, so it is linked where the file system allows it, also to
 * what an earlier process has left, and copied only where nothing can be linked.
 */
export function shareFile(file: string, copies: string): string {
  openCopies(copies);
  const mine = join(copies, `${process.pid}-node`);
  if (isSame(mine, file)) return mine;
  rmSync(mine, { force: true });
  const { mode, mtime } = statSync(file);
  const others = readdirSync(copies)
    .map((name) => join(copies, name))
    .filter((path) => isSame(path, file));
  const linked = [...((mode & 0o005) === 0o005 ? [file] : []), ...others].some((path) => tryLink(path, mine));
  if (!linked) {
    copyFileSync(file, mine, constants.COPYFILE_FICLONE);
    chmodSync(mine, 0o755);
    // Last, so that one that is not complete is not the same.
    utimesSync(mine, mtime, mtime);
  }
  sweepCopies(copies);
  return mine;
}

function isSame(path: string, file: string): boolean {
  const [a, b] = [path, file].map((name) => statSync(name, { throwIfNoEntry: false }));
  return a !== undefined && b !== undefined && a.size === b.size && a.mtime.getTime() === b.mtime.getTime();
}

function tryLink(file: string, link: string): boolean {
  try {
    linkSync(file, link);
    return true;
  } catch {
    return false;
  }
}
