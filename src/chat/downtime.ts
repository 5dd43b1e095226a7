import type { Speaker } from "../agent/messages.ts";
import type { MessageRef, ThreadRef } from "./threads.ts";

/** Who listened to a workspace, and when: so that an adapter can find what was sent while nobody did. */
export interface Downtime {
  /** Since when messages may have been missed, ms; undefined when nobody has ever listened. */
  lastConnectedAt(platform: string, workspace: string): Promise<number | undefined>;
  /** Notes that what was sent until now has arrived or will. */
  markConnected(platform: string, workspace: string): Promise<void>;
  /** Threads where people may go on writing without a mention, the latest first. */
  threads(platform: string, workspace: string): Promise<ThreadRef[]>;
  /** The messages that somebody may have edited, deleted or put a 🛑 on meanwhile with an effect. */
  open(platform: string, workspaces: readonly string[]): Promise<OpenMessage[]>;
}

/** A message that waits or that a turn works on, or the one in which a turn shows its progress. */
export interface OpenMessage {
  thread: ThreadRef;
  ref: MessageRef;
  /** Whose it is and what it said when Heddle last heard of it. Absent of Heddle's own. */
  written?: { author: Speaker; text: string };
}
