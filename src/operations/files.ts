import type { WorkspaceFiles } from "../adapters/console/services.ts";
import { threadId } from "../chat/threads.ts";
import type { WatchedSandbox } from "../sandbox/health.ts";

/** The files of a thread, through its sandbox: whoever looks at a workspace must not follow its links. */
export function workspaceFiles(sandbox: WatchedSandbox): WorkspaceFiles {
  const none = {
    ok: false,
    reason: "failed",
    message: "There is no sandbox on this host, so there are no files.",
  } as const;
  return {
    async list(thread) {
      return sandbox.probe.ok ? (await sandbox.backend.open(threadId(thread))).listFiles() : none;
    },
    async read(thread, path) {
      return sandbox.probe.ok ? (await sandbox.backend.open(threadId(thread))).readFile(path) : none;
    },
  };
}
