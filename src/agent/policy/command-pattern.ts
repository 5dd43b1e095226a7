import { findImpliedOptions, findSynonyms, nameProgram, takesValue } from "./shell-programs.ts";

/** A command that a script runs or may run, as rules see it. */
export interface ListedCommand {
  /** Its words, without quotes. */
  words: readonly string[];
  /** The words joined by one space. */
  text: string;
  /** Steering variables (`PATH=.`) that are set before it. */
  assignments: readonly string[];
  /** Files that it writes by redirection. */
  writes: readonly string[];
  /** Words that the script does not say may follow. */
  isOpen: boolean;
}

export interface CommandPattern {
  /**
   * Whether the command as it is written is what the pattern allows. A redirection into a file and a variable that
   * makes another program of the command (`PATH=.`) must be shown by the pattern: `ls* > *.log`.
   */
  allows(command: ListedCommand): boolean;
  /**
   * Whether a rule to ask or to deny is about the command. Options may stand anywhere and be written in another way, and
   * what the script leaves open counts as what the pattern wants.
   */
  concerns(command: ListedCommand): boolean;
}

/** A pattern of commands, in which `*` stands for any text: `git push*`. Both answers are linear in the command. */
export function compileCommandPattern(pattern: string): CommandPattern {
  const matches = compileGlob(pattern);
  const matchesLoosely = compileLoosely(pattern);
  const matchesEverything = /^\*+$/.test(pattern);
  const redirections = pattern.split(">").length - 1;
  const equals = pattern.split("=").length - 1;
  const shows = ({ writes, assignments }: ListedCommand) =>
    writes.length <= redirections && assignments.length <= equals;
  const [beginning = ""] = pattern.split("*");
  const matchesText = (command: ListedCommand) => mayBegin(command, beginning) && matches(command.text);
  return {
    allows: (command) =>
      matchesEverything ||
      (isPlain(command) ? matchesText(command) : shows(command) && matches(writeOut(command))),
    concerns: (command) =>
      matchesText(command) || (!isPlain(command) && matches(writeOut(command))) || matchesLoosely(command),
  };
}

/** Whether a command's text may begin so, by its first word alone: most patterns are about another program. */
function mayBegin({ words }: ListedCommand, beginning: string): boolean {
  const program = words[0] ?? "";
  return program.startsWith(beginning) || beginning.startsWith(program);
}

function isPlain({ writes, assignments }: ListedCommand): boolean {
  return writes.length === 0 && assignments.length === 0;
}

/** `PATH=. ls > x` */
function writeOut({ assignments, text, writes }: ListedCommand): string {
  return [...assignments, text, ...writes.map((file) => `> ${file}`)].filter(Boolean).join(" ");
}

/** Whether a text is the pattern from its first to its last character. Linear in the text. */
export function compileGlob(glob: string): (text: string) => boolean {
  const [first = "", ...rest] = glob.split("*");
  const last = rest.pop();
  return (text) => {
    if (last === undefined) return text === first;
    if (!text.startsWith(first)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return text.length - last.length >= at && text.endsWith(last);
  };
}

/**
 * Compares word by word: the pattern's options must be among the command's, wherever; its other words in their order,
 * where the command may have options between them, each with or without a value.
 */
function compileLoosely(pattern: string): (command: ListedCommand) => boolean {
  const words = pattern.split(/\s+/).filter(Boolean);
  const options = words.filter(isOption).map(compileOption);
  const others = words.filter((word) => !isOption(word));
  const endsOpen = pattern.endsWith("*");
  // A pattern that begins with a star has no program to compare.
  if (others[0] === undefined || others[0].startsWith("*")) return () => false;
  const hasWords = compileWords(others, endsOpen);
  return (command) => {
    if (!hasWords(command)) return false;
    if (options.length === 0) return true;
    const given = listOptions(command.words);
    return options.every((isGiven) => isGiven(given));
  };
}

interface PatternWord {
  matches(word: string): boolean;
  /** `*`: any number of words. */
  isAny: boolean;
  /** Whether it may be a subcommand's name, which words that are not known may well be. */
  isName: boolean;
}

function compileWords(words: readonly string[], endsOpen: boolean): (command: ListedCommand) => boolean {
  const pattern: PatternWord[] = words.map((word) => ({
    matches: compileGlob(word),
    isAny: word === "*",
    isName: /^[a-z][\w-]*\*?$/.test(word),
  }));
  return (command) => {
    if (!pattern[0]?.matches(command.words[0] ?? "")) return false;
    let met = meet(pattern, 1);
    for (const word of describeWords(command.words)) {
      if (endsOpen && met.has(pattern.length)) return true;
      met = meetWord(pattern, met, word);
      if (met.size === 0) return false;
    }
    if (met.has(pattern.length)) return true;
    return command.isOpen && [...met].some((count) => pattern.slice(count).every(({ isName }) => isName));
  };
}

function meetWord(
  pattern: readonly PatternWord[],
  met: ReadonlySet<number>,
  { text, isValue, mayBeLeftOut }: DescribedWord,
): Set<number> {
  const next = new Set<number>();
  for (const count of met) {
    if (mayBeLeftOut || pattern[count]?.isAny) meet(pattern, count, next);
    if (!isValue && pattern[count]?.matches(text)) meet(pattern, count + 1, next);
  }
  return next;
}

/** How many of the pattern's words may have been met: this many, and more where a star stands for nothing. */
function meet(pattern: readonly PatternWord[], count: number, met = new Set<number>()): Set<number> {
  met.add(count);
  return pattern[count]?.isAny ? meet(pattern, count + 1, met) : met;
}

interface DescribedWord {
  text: string;
  /** The value of an option, for sure. */
  isValue: boolean;
  /** An option, or what may be the value of one. */
  mayBeLeftOut: boolean;
}

/** What the words behind a command's program are, as far as it can be told. */
function* describeWords(words: readonly string[]): Generator<DescribedWord, void> {
  const program = nameProgram(words[0] ?? "");
  let option: string | undefined;
  let isBeforeSubcommand = true;
  for (let at = 1; at < words.length; at += 1) {
    const text = words[at] ?? "";
    const isValue = option !== undefined && isBeforeSubcommand && takesValue(program, option);
    const isNextOption = isOption(text);
    if (!isValue && !isNextOption) isBeforeSubcommand = false;
    yield { text, isValue, mayBeLeftOut: isNextOption || option !== undefined };
    option = isNextOption && !text.includes("=") ? text : undefined;
  }
}

function isOption(word: string): boolean {
  return /^-[^\s]/.test(word) && word !== "--";
}

/** Every option of a command in each of the forms that say it. */
function listOptions([program = "", ...words]: readonly string[]): Set<string> {
  const name = nameProgram(program);
  const found = new Set<string>();
  const add = (option: string) => {
    for (const form of [option, ...findSynonyms(name, option)]) found.add(form);
  };
  for (const word of words) {
    if (isOption(word)) {
      const [bare = word] = word.split("=");
      found.add(word);
      add(bare);
      if (!bare.startsWith("--")) for (const letter of bare.slice(1, maxLetters)) add(`-${letter}`);
    }
    for (const option of findImpliedOptions(name, word)) found.add(option);
  }
  return found;
}

/** Short options in one word beyond this are no options. */
const maxLetters = 16;

/** Whether a pattern's option is among a command's: as it is, as letters of one word, or as a long one cut short. */
function compileOption(option: string): (given: ReadonlySet<string>) => boolean {
  const matches = compileGlob(option);
  const literal = option.replaceAll("*", "");
  const letters = /^-\w{2,}$/.test(literal) ? [...literal.slice(1)].map((letter) => `-${letter}`) : undefined;
  return (given) => {
    if (letters?.every((letter) => given.has(letter))) return true;
    for (const word of given) {
      if (matches(word)) return true;
      if (word.startsWith("--") && word.length > 3 && literal.startsWith(word)) return true;
    }
    return false;
  };
}
