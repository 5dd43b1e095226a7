import { posix } from "node:path";
import { type FileFailure, workspaceRoot } from "../sandbox.ts";

/** A path as the sandbox sees it, absolute; denied outside the thread's own folders. */
export function insidePath(path: string): { ok: true; path: string } | FileFailure {
  if (path.includes("\0")) return denied("A path cannot contain a NUL character.");
  const absolute = posix.resolve(workspaceRoot, path);
  const own = [workspaceRoot, "/tmp"].some((root) => absolute === root || absolute.startsWith(`${root}/`));
  return own ? { ok: true, path: absolute } : denied(`${absolute} is outside ${workspaceRoot} and /tmp.`);
}

/** The path as file lists show it: relative below the workspace, else absolute. */
export function shownPath(absolute: string): string {
  return absolute.startsWith(`${workspaceRoot}/`) ? absolute.slice(workspaceRoot.length + 1) : absolute;
}

function denied(message: string): FileFailure {
  return { ok: false, reason: "denied", message };
}
