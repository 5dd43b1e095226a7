import { posix } from "node:path";
import { type FileFailure, skillsRoot, workspaceRoot } from "../sandbox.ts";

/** Where the thread's own folders are mounted, the workspace first. */
export const threadFolders = [workspaceRoot, "/tmp", "/dev/shm"] as const;

const writable = [workspaceRoot, "/tmp"];
const readable = [...writable, skillsRoot];

/** A path as the sandbox sees it, absolute; denied outside the thread's own folders and, to read, the skills. */
export function resolveInside(path: string, use: "read" | "write"): { ok: true; path: string } | FileFailure {
  if (path.includes("\0")) return denyPath("A path cannot contain a NUL character.");
  const absolute = posix.resolve(workspaceRoot, path);
  const isIn = (roots: readonly string[]) =>
    roots.some((root) => absolute === root || absolute.startsWith(`${root}/`));
  if (isIn(use === "read" ? readable : writable)) return { ok: true, path: absolute };
  return denyPath(
    isIn(readable)
      ? `${absolute} is read-only; write to ${workspaceRoot} or /tmp.`
      : `${absolute} is outside ${workspaceRoot} and /tmp.`,
  );
}

/** The path as file lists show it: relative below the workspace, else absolute. */
export function formatPath(absolute: string): string {
  return absolute.startsWith(`${workspaceRoot}/`) ? absolute.slice(workspaceRoot.length + 1) : absolute;
}

function denyPath(message: string): FileFailure {
  return { ok: false, reason: "denied", message };
}
