import type { Redis } from "ioredis";
import type { Speaker } from "../../agent/messages.ts";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import { announceSession, createLivePublisher } from "../../queue/outbox/live-events.ts";
import { deleteSession, setSessionFacts } from "../../queue/session/manage-session.ts";
import type { ThreadAuditEvent } from "../../telemetry/audit/fact.ts";
import type { WorkspaceFiles } from "./files.ts";

/** What can be done with a whole thread. Each act is in the audit log, with who did it. */
export interface ThreadManager {
  /** An empty title gives the thread its own back. */
  rename(thread: ThreadId, title: string, by: Speaker): Promise<void>;
  /** Puts a thread away until somebody writes there, or takes it out again. */
  archive(thread: ThreadId, archived: boolean, by: Speaker): Promise<void>;
  /** That its content was taken out of Heddle. */
  noteExport(thread: ThreadId, by: Speaker): void;
  /** That somebody has read direct messages of others; once an hour for each thread. */
  noteDirectRead(thread: ThreadId, by: Speaker): void;
  /** Deletes a thread with all that belongs to it. */
  remove(thread: ThreadId, by: Speaker): Promise<Removal>;
}

/** Whether a thread is deleted. `note`, for people: why not, or what is left of it for the moment. */
export interface Removal {
  isDeleted: boolean;
  note?: string;
}

export interface ManagerOptions {
  redis: Redis;
  workspaces: Pick<WorkspaceFiles, "remove">;
  audit(event: ThreadAuditEvent): void;
  now(): number;
  onError(error: unknown): void;
}

/** A page that stays open is one reading. */
const notedAgainMs = 60 * 60 * 1000;
const mostNoted = 10_000;

export function createThreadManager({
  redis,
  workspaces,
  audit,
  now,
  onError,
}: ManagerOptions): ThreadManager {
  const done = (action: ThreadAuditEvent["action"], thread: ThreadId, by: Speaker) => {
    audit({ action, thread, by });
    announceSession(redis, thread, onError);
    // For its timeline, which looks at the thread again.
    createLivePublisher(redis, thread, onError)({ type: "managed" });
  };
  const directReads = new Map<string, number>();

  return {
    async rename(thread, title, by) {
      await setSessionFacts(redis, thread, { title });
      done("thread-renamed", thread, by);
    },
    async archive(thread, archived, by) {
      await setSessionFacts(redis, thread, { archivedAt: archived ? String(now()) : "" });
      done(archived ? "thread-archived" : "thread-reopened", thread, by);
    },
    noteExport: (thread, by) => audit({ action: "thread-exported", thread, by }),
    noteDirectRead(thread, by) {
      const [key, at] = [`${by.id} ${thread}`, now()];
      if (at - (directReads.get(key) ?? -Infinity) < notedAgainMs) return;
      if (directReads.size >= mostNoted) directReads.clear();
      directReads.set(key, at);
      audit({ action: "direct-read", thread, by });
    },
    async remove(thread, by) {
      const at = now();
      if (!(await deleteSession(redis, thread, at)))
        return {
          isDeleted: false,
          note: "The thread is at work, or something waits there: stop it first, then delete it.",
        };
      done("thread-deleted", thread, by);
      const isGone = await workspaces.remove(parseThreadId(thread), at).catch((error: unknown) => {
        onError(error);
        return false;
      });
      // Whoever has them looks again: `heddle:deleted` says so.
      const note = "The thread is deleted; its files go when what still runs there has ended.";
      return isGone ? { isDeleted: true } : { isDeleted: true, note };
    },
  };
}
