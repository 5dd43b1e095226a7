import { listDeleted } from "../queue/session/manage-session.ts";
import type { AppContext } from "./context.ts";
import { openForgetter } from "./forget-threads.ts";
import { readCleanPolicy } from "./sandbox.ts";

/** What a worker does about the files of its host and the age of threads, whether turns run or not. */
export function startHousekeeping(context: AppContext): { stop(): void } {
  const removeDeleted = createDeletedRemover(context);
  void removeDeleted();
  const forget = openForgetter(context);
  void forget();
  const timers = [
    setInterval(() => void cleanWorkspaces(context), cleanEveryMs),
    setInterval(() => void removeDeleted(), removeEveryMs),
    setInterval(() => void forget(), removeEveryMs),
  ];
  for (const timer of timers) timer.unref();
  return {
    stop() {
      for (const timer of timers) clearInterval(timer);
    },
  };
}

const cleanEveryMs = 6 * 3_600_000;

async function cleanWorkspaces({ config, sandbox, log }: AppContext): Promise<void> {
  if (!(await sandbox.probe()).ok) return;
  try {
    const report = await (await sandbox.backend.workspaces()).clean(readCleanPolicy(config));
    const { archived = [], failed = [] } = report ?? {};
    if (archived.length + failed.length > 0) log.info({ archived, failed }, "idle workspaces were archived");
  } catch (error) {
    log.warn({ err: error }, "idle workspaces could not be archived");
  }
}

const removeEveryMs = 60_000;

/** Removes from this host the files of threads that were deleted, by whichever process. */
function createDeletedRemover({ redis, sandbox, log }: AppContext): () => Promise<void> {
  const done = new Map<string, number>();
  return async () => {
    if (!(await sandbox.probe()).ok) return;
    try {
      const deleted = await listDeleted(redis);
      for (const { thread, at } of deleted) {
        if (done.get(thread) === at) continue;
        if (await (await sandbox.backend.workspaces()).remove(thread, at)) done.set(thread, at);
      }
      const listed = new Set(deleted.map(({ thread }) => thread));
      for (const thread of done.keys()) if (!listed.has(thread)) done.delete(thread);
    } catch (error) {
      log.warn({ err: error }, "the files of deleted threads could not be removed");
    }
  };
}
