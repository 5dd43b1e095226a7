import { Conversations } from "../adapters/console/conversations/conversations.ts";
import type { Speaker } from "../agent/messages.ts";
import { parseThreadId, type ThreadId } from "../chat/threads.ts";
import { createWorkspaceFiles } from "../operations/threads/files.ts";
import { createThreadManager, type Removal } from "../operations/threads/manage.ts";
import type { AppContext } from "./context.ts";

/** Deletes a thread with all that belongs to it. */
export type RemoveThread = (thread: ThreadId, by: Speaker) => Promise<Removal>;

/** What deletes threads outside the console's pages: for commands, and for what channels keep no longer. */
export function openThreadRemoval({
  redis,
  sandbox,
  telemetry,
  log,
}: Pick<AppContext, "redis" | "sandbox" | "telemetry" | "log">): RemoveThread {
  const manager = createThreadManager({
    ...{ redis, audit: telemetry.audit, now: Date.now },
    workspaces: createWorkspaceFiles(sandbox),
    onError: (error) => log.warn({ err: error }, "A thread that was deleted could not be told of."),
  });
  const conversations = new Conversations(redis, Date.now);
  return async (thread, by) => {
    const removal = await manager.remove(thread, by);
    const { platform, thread: id } = parseThreadId(thread);
    if (removal.isDeleted && platform === "local") await conversations.forget(id);
    return removal;
  };
}
