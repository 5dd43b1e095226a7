import type { ThreadRef } from "./threads.ts";

/** A thread as its person sees it in a list. */
export interface RecentThread {
  thread: ThreadRef;
  /** What the person began it with, as it was written. */
  beginning: string;
  status: "running" | "waiting" | "idle";
  /** When something last happened there, ms. */
  activeAt: number;
}

export interface RecentThreads {
  /** The threads that a person has begun, the latest first, some ten at most. */
  of(platform: string, workspace: string, person: string): Promise<RecentThread[]>;
}

export interface DayBudgets {
  /** How much of their budget of today a person has used, one sentence a limit; empty without one. */
  of(platform: string, workspace: string, person: string): Promise<string[]>;
}
