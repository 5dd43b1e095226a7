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
  readonly #commands: ListedCommand[] = [];
  /** What was added: commands that are nothing but their words, and the others. */
  readonly #known = { plain: new Set<string>(), others: new Set<string>() };
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
    // With NUL between the words: a quoted one looks like several otherwise.
    const joined = words.join("\0");
    if (!this.spend(joined.length + 4)) return false;
    const isPlain = assignments.length === 0 && writes.length === 0 && !isOpen;
    const known = isPlain ? this.#known.plain : this.#known.others;
    const key = isPlain
      ? joined
      : `${[...assignments, "", ...writes, isOpen ? "…" : ""].join("\0")}\0\0${joined}`;
    const { size } = known;
    known.add(key);
    if (known.size === size) return false;
    this.#commands.push(new Listed(words, of));
    return true;
  }

  commands(): ListedCommand[] {
    return this.#commands;
  }
}

/** Its text is long and seldom asked for. */
class Listed implements ListedCommand {
  readonly words: readonly string[];
  readonly assignments: readonly string[];
  readonly writes: readonly string[];
  readonly isOpen: boolean;
  #text: string | undefined;

  constructor(
    words: readonly string[],
    { assignments, writes, isOpen }: Omit<ListedCommand, "words" | "text">,
  ) {
    this.words = words;
    this.assignments = assignments;
    this.writes = writes;
    this.isOpen = isOpen;
  }

  get text(): string {
    return (this.#text ??= this.words.join(" "));
  }
}
