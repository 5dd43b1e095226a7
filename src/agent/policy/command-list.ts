import type { ListedCommand } from "./command-pattern.ts";

/**
 * How many characters may be read and listed for one script. Three times the longest command, and some eight times the
 * longest ordinary script; judging so many takes some tens of milliseconds.
 */
const budgetChars = 3 << 17;

/** The commands of one script, each once, and the budget for finding them. */
export class CommandList {
  /** False when the script may run what is not listed. */
  isTold = true;
  readonly #commands: ListedCommand[] = [];
  /** The texts of those that nothing but their text tells apart. */
  readonly #texts = new Set<string>();
  readonly #keys = new Set<string>();
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
    // A quoted word looks like several.
    const isPlain =
      !isOpen && assignments.length + writes.length === 0 && !words.some((word) => word.includes(" "));
    if (isPlain ? isKnown(this.#texts, text) : isKnown(this.#keys, nameCommand(words, of))) return false;
    this.#commands.push({ words, text, assignments, writes, isOpen });
    return true;
  }

  commands(): ListedCommand[] {
    return this.#commands;
  }
}

/** Adds the name where it is new. */
function isKnown(names: Set<string>, name: string): boolean {
  const { size } = names;
  return names.add(name).size === size;
}

function nameCommand(
  words: readonly string[],
  { assignments, writes, isOpen }: Omit<ListedCommand, "words" | "text">,
): string {
  return [...assignments, "", ...writes, isOpen ? "…" : "", "", ...words].join("\0");
}
