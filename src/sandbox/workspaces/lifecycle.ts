import { existsSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import type { CleanReport, WorkspaceInfo, Workspaces } from "../sandbox.ts";
import { withFileLock } from "./file-lock.ts";
import type { Folder, LifecycleOptions, WorkspaceLifecycle } from "./lifecycle-contracts.ts";
import { createWorkspaceRecords } from "./records.ts";
import { createTransfer } from "./save-and-restore.ts";
import { createStaging } from "./staging.ts";

/** Looks after the workspaces of one host: opens, saves, archives and forgets them. */
export function createWorkspaceLifecycle<Kind extends Folder>(
  options: LifecycleOptions<Kind>,
): WorkspaceLifecycle<Kind> {
  const { root, store, shared, tools, now, log } = options;
  const placeOf = (key: string) => join(root, "workspaces", key);
  const records = createWorkspaceRecords(join(root, "threads"));
  const staging = createStaging(root, log, now);
  const transfer = createTransfer(options, records, staging, placeOf);

  async function archiveIdle(idleMs: number, report: CleanReport): Promise<void> {
    for (const key of records.keys()) {
      const record = records.read(key);
      if (record === undefined || now() - record.usedAt < idleMs || !existsSync(placeOf(key))) continue;
      if (!(await tools.quiesce(record.threadId))) continue;
      try {
        if (await transfer.archive(key, record)) report.archived.push(record.threadId);
      } catch (error) {
        report.failed.push(record.threadId);
        log(error instanceof Error ? error.message : String(error));
      }
    }
  }

  async function forgetOld(archiveMs: number, report: CleanReport): Promise<void> {
    for (const { key, saved } of await store.list()) {
      if (now() - saved.savedAt < archiveMs || existsSync(placeOf(key))) continue;
      await store.remove(key, saved.version);
      records.remove(key);
      report.forgotten.push(saved.threadId);
    }
  }

  async function clean({ idleMs, archiveMs }: Parameters<Workspaces["clean"]>[0]): Promise<CleanReport> {
    const report: CleanReport = { archived: [], forgotten: [], failed: [] };
    await archiveIdle(idleMs, report);
    await forgetOld(archiveMs, report);
    await staging.clean(idleMs);
    return report;
  }

  return {
    async open(threadId) {
      const key = tools.key(threadId);
      const record = records.read(key);
      // First of all, so that a clean-up that is under way lets go of it.
      records.write(key, { ...record, threadId, usedAt: now() });
      const newer = await transfer.findNewer(key);
      if (newer !== undefined) await transfer.restore(key, threadId, newer);
      return tools.folderOf(threadId);
    },

    catchUp: transfer.catchUp,

    async save(threadId) {
      if (!shared) return;
      const key = tools.key(threadId);
      let version = await transfer.save(key, threadId);
      while (version === undefined) {
        // Both have worked on it, as a worker does that was taken for dead: keep what both did.
        await transfer.catchUp(threadId);
        version = await transfer.save(key, threadId);
      }
      records.write(key, { threadId, usedAt: now(), version });
    },

    async list() {
      const found = new Map<string, WorkspaceInfo>();
      for (const { key, saved } of await store.list()) {
        found.set(key, { threadId: saved.threadId, usedAt: saved.savedAt });
      }
      for (const key of records.keys()) {
        const folder = placeOf(key);
        const record = existsSync(folder) ? records.read(key) : undefined;
        if (record) found.set(key, { threadId: record.threadId, usedAt: record.usedAt, folder });
      }
      return [...found.values()].toSorted((a, b) => b.usedAt - a.usedAt);
    },

    async export(threadId, file) {
      const key = tools.key(threadId);
      const newer = await transfer.findNewer(key);
      if (newer !== undefined) {
        await store.get(key, newer, file);
        return true;
      }
      if (!existsSync(placeOf(key))) return false;
      const folder = tools.folderOf(threadId);
      await staging.withFile(folder, async (staged) => {
        const problem = await tools.pack(folder, staged);
        if (problem !== undefined) throw new Error(`The workspace could not be exported: ${problem}`);
        await copyFile(staged, file);
      });
      return true;
    },

    async remove(threadId, before) {
      const key = tools.key(threadId);
      if ((records.read(key)?.usedAt ?? 0) > before) return true;
      if (!(await tools.quiesce(threadId))) return false;
      if (existsSync(placeOf(key))) await staging.discard(staging.moveToTrash(key, placeOf(key)));
      const saved = await store.find(key);
      if (saved && saved.savedAt <= before) await store.remove(key, saved.version);
      records.remove(key);
      return true;
    },

    // Two at once would each take what the other removes for the whole workspace.
    clean: (policy) => withFileLock(join(root, "cleaning"), () => clean(policy)),
  };
}
