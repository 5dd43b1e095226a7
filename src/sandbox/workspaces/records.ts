import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

/** What is remembered of a workspace that is on this host. */
const recordSchema = z.object({
  threadId: z.string(),
  usedAt: z.number(),
  /** The save that it came from or went to. */
  version: z.string().optional(),
});
export type WorkspaceRecord = z.infer<typeof recordSchema>;

/** The records of a host's workspaces, one file each. */
export interface WorkspaceRecords {
  keys(): string[];
  /** Undefined when there is none, or a full disk has taken only a part of it. */
  read(key: string): WorkspaceRecord | undefined;
  write(key: string, record: WorkspaceRecord): void;
  remove(key: string): void;
}

export function createWorkspaceRecords(folder: string): WorkspaceRecords {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    keys: () => readdirSync(folder),
    read(key) {
      try {
        return recordSchema.parse(JSON.parse(readFileSync(join(folder, key), "utf8")));
      } catch {
        return undefined;
      }
    },
    write(key, record) {
      const path = join(folder, key);
      const fresh = `${path}.${randomBytes(4).toString("hex")}`;
      try {
        writeFileSync(fresh, JSON.stringify(record), { mode: 0o600 });
        renameSync(fresh, path);
      } catch (error) {
        // A full disk takes the name and not the content.
        rmSync(fresh, { force: true });
        throw error;
      }
    },
    remove(key) {
      rmSync(join(folder, key), { force: true });
    },
  };
}
