import type { Speaker } from "../agent/messages.ts";
import type { MessageRef, ThreadRef } from "./threads.ts";

/** How often an adapter records that it listens, ms. */
export const heartbeatMs = 3_000;

/** When an adapter was last connected to a workspace, so that it can find what was sent while none was. */
export interface Downtime {
  /** Since when events may have been missed, ms since the epoch; undefined when no adapter was ever connected. */
  lastConnectedAt(platform: string, workspace: string): Promise<number | undefined>;
  /** Records that everything sent until now was delivered or will be. */
  markConnected(platform: string, workspace: string): Promise<void>;
  /**
   * Records for a few seconds that a stop of anything that is open there would be heard, and that none was missed:
   * workers go on with interrupted turns. To be called regularly, see `heartbeatMs`.
   */
  markListening(platform: string, workspaces: readonly string[]): Promise<void>;
  /** Records that stops may be missed there from now on; without `workspaces` in all that are known. */
  markAway(platform: string, workspaces?: readonly string[]): Promise<void>;
  /** Threads where people may continue without a mention, the latest first. */
  threads(platform: string, workspace: string): Promise<ThreadRef[]>;
  /** The messages whose edit, deletion or 🛑 would still have an effect. */
  open(platform: string, workspaces: readonly string[]): Promise<OpenMessage[]>;
}

/** A message that waits or that a turn is working on, or the one in which a turn shows its progress. */
export interface OpenMessage {
  thread: ThreadRef;
  ref: MessageRef;
  /** Its author and what it said when Heddle last saw it. Absent for Heddle's own. */
  written?: { author: Speaker; text: string };
}
