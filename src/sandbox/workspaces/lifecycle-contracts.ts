import type { Workspaces } from "../sandbox.ts";
import type { WorkspaceStore } from "./store.ts";

/** A thread's folder on this host, as the back end lays it out. */
export interface Folder {
  path: string;
  owner?: { uid: number; gid: number };
}

/** What a back end does for its workspaces. Archives are made and read inside the thread's own sandbox. */
export interface FolderTools<Kind extends Folder> {
  key(threadId: string): string;
  /** Makes the thread's folder if need be; `path` is where, if not where the thread has it. */
  folderOf(threadId: string, path?: string): Kind;
  /** Writes the workspace to `file` as tar. Resolves with what went wrong. */
  pack(folder: Kind, file: string): Promise<string | undefined>;
  /** Fills the empty workspace from `file`. Resolves with what went wrong. */
  unpack(folder: Kind, file: string): Promise<string | undefined>;
  /** Brings what is newer in `file` into a workspace in use. Resolves with what went wrong. */
  merge(folder: Kind, file: string): Promise<string | undefined>;
  /** Stops what the thread does by itself. False when something of it runs in this process. */
  quiesce(threadId: string): Promise<boolean>;
}

export interface LifecycleOptions<Kind extends Folder> {
  /** Holds `workspaces/`; records and archives in the making go beside it. */
  root: string;
  store: WorkspaceStore;
  /** Whether other workers use the same store. */
  shared: boolean;
  tools: FolderTools<Kind>;
  log(line: string): void;
  now(): number;
}

export interface WorkspaceLifecycle<Kind extends Folder> extends Workspaces {
  /** The thread's folder with its newest content: restored when clean-up or another worker has it. */
  open(threadId: string): Promise<Kind>;
  /** The same for a folder in which something runs: it stays, and gets what is newer elsewhere. */
  catchUp(threadId: string): Promise<void>;
  /** Saves the workspace for other workers. Nothing happens without a shared store. */
  save(threadId: string): Promise<void>;
}
