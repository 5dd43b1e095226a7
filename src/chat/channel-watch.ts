import type { InboundMessage, IntakeResult } from "./inbound.ts";
import type { ThreadId, ThreadRef } from "./threads.ts";

/** A place in which channels are. */
type Place = Pick<ThreadRef, "platform" | "workspace" | "channel">;

/** When a thread is to be woken for a message that may wait, ms. */
export interface WakeTime {
  at: number;
  /** The time of the messages shortly before it, which is put off by it. */
  insteadOf?: number;
}

/**
 * What becomes of a message that addresses nobody of ours. `taken`: it goes to that thread, as a message of that
 * trigger, and its turn begins then unless something else wakes the thread before.
 */
export type Heard =
  | { kind: "taken"; thread: ThreadId; trigger: string; wake: WakeTime }
  | Extract<IntakeResult, { kind: "ignored" }>;

/** The channels whose messages are read also where they address nobody. */
export interface ChannelWatch {
  isWatched(place: Place): boolean;
  /**
   * Judges a message of somebody with permission. Called again for the same message, in whichever process, it names the
   * same thread.
   */
  judge(event: InboundMessage): Promise<Heard>;
  /** Sees to it that the thread is woken then; called once the message is stored. The sweeper does it if this process dies. */
  wakeLater(thread: ThreadId, at: number): void;
  close(): void;
}
