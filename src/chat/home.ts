import type { ThreadRef } from "./threads.ts";

/** A thread as the person who began it sees it in a list. */
export interface RecentThread {
  thread: ThreadRef;
  /** The message that the person began it with, as written. */
  beginning: string;
  status: "running" | "waiting" | "idle";
  /** When something last happened there, ms. */
  activeAt: number;
}

export interface RecentThreads {
  /** The threads that a person has begun, the latest first, at most about ten. */
  of(platform: string, workspace: string, person: string): Promise<RecentThread[]>;
}

export interface DayBudgets {
  /** How much of their daily budget a person has used today, one phrase for each limit; empty without limits. */
  of(platform: string, workspace: string, person: string): Promise<string[]>;
}
