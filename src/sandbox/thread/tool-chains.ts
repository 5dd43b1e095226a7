import type { Problem } from "../sandbox.ts";

/** Folders of the host with programs that some threads have ready, read-only and at the same path as here. */
export interface ToolChains {
  /** bwrap arguments for the thread. */
  viewOf(threadId: string): readonly string[];
  /** For the model; empty where the thread has none. */
  note(threadId: string): string;
  /** What cannot be shown, and why. */
  problems(): Problem[];
}

export interface ToolChainSettings {
  /** By the operator's names: absolute folders. */
  folders: Readonly<Record<string, string>>;
  /** The names that the thread's channel has. */
  of(threadId: string): readonly string[];
}
