import type { ListedCommand } from "./command-pattern.ts";

/**
 * How many characters may be read and listed for one script. Some ten times the longest ordinary script; judging so
 * many takes some tens of milliseconds.
 */
const budgetChars = 1 << 19;

/** The commands of one script, each once, and the budget for finding them. */
export class CommandList {
  /** False when the script may run what is not listed. */
  isTold = true;
  readonly #byWords = new Map<string, ListedCommand>();
  #left = budgetChars;

  get isSpent(): boolean {
    return this.#left < 0;
  }

  /** Takes from the budget. False when it is used up, and the script is not told from then on. */
  spend(chars: number): boolean {
    this.#left -= chars;
    if (this.#left < 0) this.isTold = false;
    return this.#left >= 0;
  }

  /** Adds a command. False when nothing is to be derived from it: it is known, or the budget is used up. */
  add(words: readonly string[], of: Omit<ListedCommand, "words" | "text">): boolean {
    const { assignments, writes, isOpen } = of;
    if (this.isSpent) return false;
    const text = words.join(" ");
    if (!this.spend(text.length + 4)) return false;
    // With NUL between the words: a quoted one looks like several otherwise.
    const others = [...assignments, "", ...writes, isOpen ? "…" : ""].join("\0");
    const key = `${others}\0\0${words.join("\0")}`;
    if (this.#byWords.has(key)) return false;
    this.#byWords.set(key, { words, text, assignments, writes, isOpen });
    return true;
  }

  commands(): ListedCommand[] {
    return [...this.#byWords.values()];
  }
}
