/**
 * What is measured side by side: one module each, run in a process of its own (`process.ts`), that exports
 * {@link Open} as `open`. All speak the chat completions protocol, stream, and have one tool, `add`.
 */
export type Open = (service: { baseUrl: string; model: string }) => Promise<Candidate>;

export interface Candidate {
  /** Runs the task behind this conversation to its end and returns the last words. */
  ask(history: readonly Said[], task: string): Promise<string>;
  /** Ends what it has started. */
  close?(): Promise<void>;
}

/** A message of an earlier turn. */
export interface Said {
  role: "user" | "assistant";
  text: string;
}

/** The same for all of them, so that their requests are of one size. */
export const instructions = "You add numbers with the tool add, one call after the other.";
export const addDescription = "Adds two numbers.";
export const add = ({ a, b }: { a: number; b: number }): string => String(a + b);

/** No service here checks it, and no client starts without. */
export const apiKey = "none";
