import { existsSync, renameSync } from "node:fs";
import type { Folder, LifecycleOptions } from "./lifecycle-contracts.ts";
import type { WorkspaceRecord, WorkspaceRecords } from "./records.ts";
import type { Staging } from "./staging.ts";

/** Moves workspaces between this host and the store. */
export interface Transfer {
  /** The save that is newer than what is here, if anything is. */
  findNewer(key: string): Promise<string | undefined>;
  /** Saves the workspace. Undefined where another worker has saved it since this one fetched or saved it. */
  save(key: string, threadId: string): Promise<string | undefined>;
  /** Puts the saved workspace in the place of what is here. */
  restore(key: string, threadId: string, version: string): Promise<void>;
  /** Brings what another worker saved into a workspace in use. */
  catchUp(threadId: string): Promise<void>;
  /** Archives a workspace and then removes it. False when it was used meanwhile, here or elsewhere. */
  archive(key: string, record: WorkspaceRecord): Promise<boolean>;
}

export function createTransfer<Kind extends Folder>(
  { store, shared, tools, now }: LifecycleOptions<Kind>,
  records: WorkspaceRecords,
  staging: Staging,
  placeOf: (key: string) => string,
): Transfer {
  async function save(key: string, threadId: string): Promise<string | undefined> {
    const folder = tools.folderOf(threadId);
    // Of before the packing. Without other workers, what is here is always the newest.
    const after = shared ? records.read(key)?.version : (await store.find(key))?.version;
    return staging.withFile(folder, async (file) => {
      const problem = await tools.pack(folder, file);
      if (problem !== undefined) throw new Error(`The workspace of ${threadId} was not saved: ${problem}`);
      return (await store.put(key, threadId, file, after))?.version;
    });
  }

  async function fetch(
    key: string,
    folder: Kind,
    version: string,
    take: (folder: Kind, file: string) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    return staging.withFile(folder, async (file) => {
      await store.get(key, version, file);
      return take(folder, file);
    });
  }

  async function findNewer(key: string): Promise<string | undefined> {
    const isHere = existsSync(placeOf(key));
    const saved = isHere && !shared ? undefined : await store.find(key);
    return isHere && saved?.version === records.read(key)?.version ? undefined : saved?.version;
  }

  /** Whether the workspace was opened since it was looked at, to be saved as this version. */
  function wasReopened(key: string, before: WorkspaceRecord, version: string | undefined): boolean {
    const current = records.read(key);
    if (current?.usedAt === before.usedAt) return false;
    // What goes on here goes on from what was saved, unless something newer was fetched since.
    if (version && current?.version === before.version)
      records.write(key, { ...before, ...current, version });
    return true;
  }

  return {
    findNewer,
    save,
    async restore(key, threadId, version) {
      // Filled elsewhere: nobody must take half a workspace for the whole, not even after a crash.
      const made = tools.folderOf(threadId, staging.newPath());
      try {
        const problem = await fetch(key, made, version, tools.unpack);
        if (problem !== undefined) throw new Error(problem);
        const isHere = existsSync(placeOf(key));
        if (isHere && records.read(key)?.version === version) return; // Another process of this host was faster.
        if (isHere) staging.moveToTrash(key, placeOf(key));
        renameSync(made.path, placeOf(key));
        records.write(key, { threadId, usedAt: now(), version });
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new Error(`The workspace of ${threadId} could not be restored from its archive: ${why}`, {
          cause: error,
        });
      } finally {
        await staging.discard(made.path);
      }
    },
    async catchUp(threadId) {
      const key = tools.key(threadId);
      const version = await findNewer(key);
      if (version === undefined) return;
      const problem = await fetch(key, tools.folderOf(threadId), version, tools.merge);
      if (problem !== undefined) {
        throw new Error(`What another worker did in ${threadId} could not be fetched: ${problem}`);
      }
      records.write(key, { threadId, usedAt: now(), version });
    },
    async archive(key, record) {
      const version = await save(key, record.threadId);
      if (wasReopened(key, record, version)) return false;
      const gone = staging.moveToTrash(key, placeOf(key));
      if (wasReopened(key, record, version)) {
        // By another process of this host, in the last moment. What it then found is empty.
        if (existsSync(placeOf(key))) staging.moveToTrash(key, placeOf(key));
        renameSync(gone, placeOf(key));
        return false;
      }
      if (version === undefined) return false; // Another worker has gone on with it.
      records.write(key, { ...record, version });
      await staging.discard(gone);
      return true;
    },
  };
}
