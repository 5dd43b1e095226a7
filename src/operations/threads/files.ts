import { threadId, type ThreadRef } from "../../chat/threads.ts";
import type { SandboxHealth } from "../../sandbox/health.ts";
import type { FileEntry, FileFailure } from "../../sandbox/sandbox.ts";

/** The files of a thread, through its sandbox: whoever looks at a workspace must not follow its links. */
export function createWorkspaceFiles(sandbox: SandboxHealth): WorkspaceFiles {
  const none = {
    ok: false,
    reason: "failed",
    message: "There is no sandbox on this host, so there are no files.",
  } as const;
  return {
    async list(thread) {
      return (await sandbox.probe()).ok ? (await sandbox.backend.open(threadId(thread))).listFiles() : none;
    },
    async read(thread, path) {
      return (await sandbox.probe()).ok
        ? (await sandbox.backend.open(threadId(thread))).readFile(path)
        : none;
    },
    async archive(thread, path) {
      return (
        (await sandbox.probe()).ok &&
        (await (await sandbox.backend.workspaces()).export(threadId(thread), path))
      );
    },
    async remove(thread, before) {
      if (!(await sandbox.probe()).ok) return true;
      return (await sandbox.backend.workspaces()).remove(threadId(thread), before);
    },
  };
}

/** The files of a thread's workspace, for people. */
export interface WorkspaceFiles {
  list(thread: ThreadRef): Promise<{ ok: true; entries: FileEntry[]; truncated: boolean } | FileFailure>;
  /** `truncated`: the file is larger than what may be read at once. */
  read(
    thread: ThreadRef,
    path: string,
  ): Promise<{ ok: true; data: Buffer; truncated: boolean } | FileFailure>;
  /** Writes all of it to that path, as a tar archive; false where there is none. */
  archive(thread: ThreadRef, path: string): Promise<boolean>;
  /** Removes all of it, unless it was used after `before` (ms). False while something runs there. */
  remove(thread: ThreadRef, before: number): Promise<boolean>;
}
