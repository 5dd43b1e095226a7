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

/**
 * Keeps one conversation as the library keeps it by itself. A module that exports it as `converse` takes part in the
 * week of chat; its one tool there is `look`.
 */
export type Converse = (service: { baseUrl: string; model: string }) => Promise<Conversation>;

export interface Conversation {
  /** Does the task behind all that was said before and returns the last words. @throws what the library throws */
  say(task: string): Promise<string>;
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

export const lookInstructions =
  "You work for a team in their chat. Look into files with the tool look, one call after the other, then answer.";
export const lookDescription = "Shows the first lines of a file.";

/** No service here checks it, and no client starts without. */
export const apiKey = "none";
