import { CommandList } from "./command-list.ts";
import type { ListedCommand } from "./command-pattern.ts";
import { findConfigured, findVariableProgram } from "./git-config.ts";
import { findReadFile, findScript, findSubscripts, startsShell } from "./given-scripts.ts";
import { maxDepth, type ReadCommand, readScript, splitWords } from "./read-script.ts";
import { fillHoles, findCommand, nameHole, simplifyHoles } from "./replaced-words.ts";
import {
  completers,
  findSteeringVariable,
  grammar,
  headers,
  schedulers,
  searches,
  nameProgram,
  shells,
  wrappers,
} from "./shell-programs.ts";
import { tellFed, tellSubstituted } from "./told-words.ts";

/**
 * Splits a shell script into the commands that it runs, for rules about commands. It need not understand the shell, but
 * must not miss what is written plainly. In doubt it returns too many commands rather than too few.
 */

/** So many words of `sudo -u x env A=1 …` are taken for the beginning of a command. */
const maxWrapped = 24;
/** For commands whose words are each tried as the beginning already. */
const allLookedThrough = -1;

export interface ListedScript {
  commands: ListedCommand[];
  /**
   * False when it may run commands that it does not say (`curl … | sh`), or when looking for them would take longer than
   * the budget allows.
   */
  isTold: boolean;
}

/**
 * Every simple command of the script, without quotes, redirections and leading assignments. What is substituted
 * (`$(…)`, backticks, `<(…)`), what `sh -c` and `eval` are given, what a pipe feeds into a shell or `xargs`, and what
 * follows `sudo`, `env` and their like is listed too, besides the command that runs it. Takes time in proportion to the
 * script, up to a limit beyond which it is not told.
 *
 * ```ts
 * listCommands("cd x && sudo make > log").commands.map(({ text }) => text); // ["cd x", "sudo make", "make"]
 * ```
 */
export function listCommands(script: string): ListedScript {
  const list = new CommandList();
  collect(script, 0, list);
  return { commands: list.commands(), isTold: list.isTold };
}

/** Signs that are a parameter by themselves, or a name. */
const variable = /\$\{[^{}]*\}|\$(?:[A-Za-z_]\w*|[\d@*#?!-])/g;

/** Variables may stand for nothing at all, and then the words around them are what runs. `$IFS` is a blank. */
function dropVariables(word: string, index: number): string {
  if (!word.includes("$")) return word;
  if (index === 0 && /^\$\{?(?:SHELL|BASH|0)\}?$/.test(word)) return "sh";
  return word.replaceAll(/\$(?:IFS\b|\{IFS[^{}]*\})/g, " ").replaceAll(variable, "");
}

/** `${x:-git}` may stand for what it says, and `${x:-${y:-git}}` too. */
function fillDefaults(word: string, index: number): string {
  let filled = word;
  for (let n = 0; n < maxDefaults; n += 1) {
    const before = filled;
    filled = before.replaceAll(defaulted, "$1");
    if (filled === before) break;
  }
  return dropVariables(filled, index);
}

const defaulted = /\$\{!?(?:\w+(?:\[[^\]{}]*\])?|[@*]):?[-=+]([^{}]*)\}/g;

/** Defaults inside one another beyond this are not followed. */
const maxDefaults = 16;

/** What a command is known to come from besides its words. */
interface Origin {
  depth: number;
  assignments: readonly string[];
  writes: readonly string[];
  isOpen: boolean;
  /** The command as it stands in the script, with what is fed into it. */
  read: ReadCommand | undefined;
  /** How many of its words may still be taken for the beginning of a command. */
  wrapped: number;
}

const plain: Origin = {
  depth: 0,
  assignments: [],
  writes: [],
  isOpen: false,
  read: undefined,
  wrapped: maxWrapped,
};

function collect(script: string, depth: number, list: CommandList): void {
  if (!list.spend(script.length)) return;
  const { commands, isCertain } = readScript(script, depth);
  for (const command of commands) {
    if (list.isSpent) return;
    collectCommand(command, depth, list);
  }
  if (isCertain && !commands.some(({ words }) => readsCommands(words))) return;
  // A quote without its end, a here-document, a shell behind a pipe: the quotes may hide commands, so they do not count.
  takeApart(script, list);
}

/** Takes whatever stands between signs of the grammar for a command, quoted or not. */
function takeApart(script: string, list: CommandList): void {
  // Looking back, so that a long number is not read again from each of its digits.
  const bare = script.replaceAll("<<<", ";").replaceAll(/(?<!\d)\d*[<>]+[&|]?[ \t]*[^\s;&|()]*/g, " ");
  const origin: Origin = { ...plain, depth: maxDepth };
  for (const piece of bare.match(/[^;&|()`{}"'\n]+/g) ?? []) {
    if (list.isSpent) return;
    const words = splitWords(piece);
    derive(words, origin, list);
    // The rest of a command that a quote has parted.
    if (/^-\w/.test(words[0] ?? "")) deriveWrapped("", words, origin, list);
  }
}

/** What a script within another takes beside its characters: thousands of short ones take longer than one that is long. */
const givenChars = 128;

/** What a command is given to run, as deep as scripts are read, and roughly below that. */
function collectGiven(script: string, depth: number, list: CommandList): void {
  if (!list.spend(givenChars)) return;
  if (depth < maxDepth) collect(script, depth + 1, list);
  else if (list.spend(script.length)) takeApart(script, list);
}

function collectCommand(command: ReadCommand, depth: number, list: CommandList): void {
  const { words, writes } = command;
  const origin: Origin = { ...plain, depth, writes, read: command };
  derive(words, origin, list);
  // PowerShell, and programs that read their words from a text, know more blanks than a shell.
  if (words.some((word) => otherBlank.test(word)))
    derive(words.flatMap((word) => word.split(otherBlank)).filter(Boolean), origin, list);
  collectSubstituted(words, origin, list);
}

const otherBlank = /[^\S \t\n]/;

/** The command as it is when its substitutions and variables give what they are known to give, or nothing. */
function collectSubstituted(words: readonly string[], origin: Origin, list: CommandList): void {
  if (list.isSpent || !words.some((word) => word.includes("$") || word.includes("`"))) return;
  const told = words.map(tellSubstituted);
  const hasDefaults = told.some(({ text }) => text.includes("${"));
  for (const expand of hasDefaults ? [dropVariables, fillDefaults] : [dropVariables]) {
    const split: string[] = [];
    for (const [index, { text, isTold }] of told.entries()) {
      const bare = expand(text, index);
      if (index === 0 && bare === "" && !isTold) list.isTold = false;
      const parts = bare === words[index] ? [bare] : splitWords(bare);
      for (const part of parts) if (part !== "") split.push(part);
    }
    // At the end of a command nothing is what it may stand for in any case.
    if (split.some((word, index) => word !== words[index])) derive(split, origin, list);
  }
  const hole = told.findIndex(({ isTold }) => !isTold);
  if (hole > 0) derive(words.slice(0, hole), { ...origin, isOpen: true }, list);
}

/** The command itself, and those that it is known to run. */
function derive(all: readonly string[], origin: Origin, list: CommandList): void {
  if (list.isSpent) return;
  const { words, assignments } = skipBefore(all, origin);
  const [program] = words;
  if (program === undefined) {
    // A variable of the shell itself holds for the commands behind it, and a file is emptied, without any program.
    for (const word of assignments) list.add([word], { ...origin, assignments: [] });
    collectSettings("", [], { ...origin, assignments }, list);
    if (origin.writes.length > 0) list.add([], origin);
    return;
  }
  if (headers.has(program)) return;
  const here = assignments === origin.assignments ? origin : { ...origin, assignments };
  if (!list.add(words, here)) return;
  const name = nameProgram(program);
  const rest = words.slice(1);
  if (name !== program) list.add([name, ...rest], here);
  if (wrappers.has(name)) deriveWrapped(name, rest, here, list);
  if (completers.has(name)) deriveCompleted(name, rest, here, list);
  collectSettings(name, rest, here, list);
  deriveGiven(name, words, here, list);
}

/** Programs that settings of git and variables before a command name, and what brackets substitute. */
function collectSettings(name: string, rest: readonly string[], origin: Origin, list: CommandList): void {
  const assignments = declaring.has(name) ? [...origin.assignments, ...rest] : origin.assignments;
  const collectIfGiven = (script: string | undefined) => {
    if (script !== undefined) collectGiven(script, origin.depth, list);
  };
  for (const assignment of assignments) collectIfGiven(findVariableProgram(assignment));
  collectIfGiven(findSubscripts(name, rest));
  if (name !== "git") return;
  for (const configured of findConfigured(rest)) {
    if (list.isSpent) return;
    if ("script" in configured) collectGiven(configured.script, origin.depth, list);
    else derive(configured.words, { ...origin, assignments: [] }, list);
  }
}

/** Builtins that set variables for the commands behind them. */
const declaring = new Set(["export", "declare", "typeset", "readonly", "local"]);

/** Skips assignments and words of the grammar, and keeps the assignments that matter. */
function skipBefore(all: readonly string[], origin: Origin) {
  let at = 0;
  let assignments = origin.assignments;
  for (let before = countWordsBefore(all, at); before > 0; before = countWordsBefore(all, at)) {
    const first = all[at] ?? "";
    if (isAssignment(first) && findSteeringVariable(first))
      assignments = [...assignments, first].slice(-maxAssignments);
    at += before;
  }
  return { words: at === 0 ? all : all.slice(at), assignments };
}

/** A command with more of them is no plain one either. */
const maxAssignments = 8;

function deriveWrapped(name: string, rest: readonly string[], origin: Origin, list: CommandList): void {
  const isOpen = origin.isOpen || (completers.has(name) && !rest.some((word) => word.startsWith(":::")));
  // A wrapper behind as many others as are looked through: what it runs is not known.
  if (origin.wrapped === 0 && rest.length > 0) list.isTold = false;
  for (let n = 0; n < Math.min(rest.length, origin.wrapped) && !list.isSpent; n += 1)
    derive(rest.slice(n), { ...origin, isOpen, wrapped: origin.wrapped - n - 1 }, list);
  // `find` names what it runs behind any number of conditions, and `bwrap … --` behind any number of options.
  for (let n = Math.max(origin.wrapped, 0); n < rest.length && !list.isSpent; n += 1)
    if (runningOption.test(rest[n] ?? ""))
      derive(rest.slice(n + 1), { ...origin, isOpen, wrapped: maxWrapped }, list);
}

const runningOption = /^-(?:(?:exec|ok)(?:dir)?|-)$/;

/** What `xargs git` and `parallel git ::: …` run: the words that they are given belong to it. */
function deriveCompleted(name: string, rest: readonly string[], origin: Origin, list: CommandList): void {
  const mark = rest.findIndex((word) => word.startsWith(":::"));
  const named = nameHole(mark < 0 ? rest : rest.slice(0, mark));
  const own = name === "parallel" ? simplifyHoles(named) : named;
  const fed = origin.read && tellFed(origin.read);
  const given = mark < 0 ? splitWords(fed ?? "") : rest.slice(mark + 1);
  const words = given.filter((word) => word !== "" && !word.startsWith(":::"));
  const from = findCommand(own);
  // `parallel` alone runs what it reads.
  if (from < 0) return name === "parallel" ? feedShell(origin, list) : undefined;
  const completed: Origin = { ...origin, isOpen: false, wrapped: allLookedThrough };
  const last = Math.min(own.length, from + maxOptions);
  for (let start = from; start < last && !list.isSpent; start += 1) {
    const command = fillHoles(own.slice(start), words);
    derive([...command, ...words], completed, list);
    // What `xargs env` and `xargs sudo` are given begins with a command.
    if (wrappers.has(nameProgram(own[start] ?? "")))
      derive(words, { ...completed, wrapped: maxWrapped }, list);
    for (const word of words) {
      if (list.isSpent) return;
      derive([...command, word], completed, list);
    }
  }
  const hole = own.findIndex((word, index) => index > from && word.includes("{}") && !/\s/.test(word));
  if (hole > from) derive(own.slice(from, hole), { ...completed, isOpen: true }, list);
}

/** Words before the command that xargs and parallel may have as values of their options. */
const maxOptions = 4;

/** What a shell and its like are given to run, as an argument or to read. */
function deriveGiven(name: string, words: readonly string[], origin: Origin, list: CommandList): void {
  const { depth } = origin;
  const rest = words.slice(1);
  if (startsShell(name, rest)) feedShell(origin, list);
  const given = findScript(name, rest);
  const source = findReadFile(name, rest, given !== undefined);
  if (source !== undefined) {
    const told = tellSubstituted(`$${source.slice(1)}`);
    if (told.isTold) collectGiven(told.text, depth, list);
    else list.isTold = false;
  }
  if (given !== undefined && given !== "{}") {
    if (/^(?:\$\{?\w+\}?|\$[@*])$/.test(given.trim())) list.isTold = false;
    collectGiven(given, depth, list);
    return;
  }
  if (source !== undefined) return;
  if (given === "{}" || schedulers.has(name) || readsCommands(words)) feedShell(origin, list);
}

/** A shell reads its commands. */
function feedShell({ read, isOpen, depth }: Origin, list: CommandList): void {
  const fed = read && tellFed(read);
  if (fed === undefined) {
    if (isOpen || read?.fedBy) list.isTold = false;
    return;
  }
  collectGiven(fed, depth, list);
  // Behind `printf` or `xargs`, any of the words may begin a command.
  const words = splitWords(fed);
  for (let n = 1; n < words.length && !list.isSpent; n += 1)
    derive(words.slice(n), { ...plain, depth: maxDepth }, list);
}

/** Whether a shell reads its commands from what the script puts before it, as in `echo … | sh`. */
function readsCommands(words: readonly string[]): boolean {
  const isShell = (word: string) => shells.has(nameProgram(word));
  const isSearch = (word: string) => searches.has(nameProgram(word));
  const has = (pattern: RegExp) => words.some((word) => pattern.test(word));
  const shell = words.some(isShell);
  if (!shell && !words.includes("source") && !words.includes(".")) return false;
  // Only options behind it, and no name of a file. `grep bash` looks for the word.
  if (isShell(words.findLast((word) => !/^[-+]/.test(word)) ?? "") && !words.some(isSearch)) return true;
  return (shell && has(/^-\w*s$/)) || has(/^(<\(|\/dev\/|\/proc\/self\/fd\/)/);
}

/** How many words at this place stand before the command and are no part of it; 0 when it begins here. */
function countWordsBefore(words: readonly string[], at: number): number {
  const first = words[at] ?? "";
  if (first === "function") return 2;
  if (first === "coproc" && words[at + 2] === "{") return 2;
  // `for x do …`, over the arguments.
  if (first === "for" && words[at + 2] === "do") return 3;
  if (first === "time" && /^(?:-p|--)$/.test(words[at + 1] ?? "")) return words[at + 2] === "--" ? 3 : 2;
  return grammar.has(first) || isAssignment(first) ? 1 : 0;
}

function isAssignment(word: string): boolean {
  return word.includes("=") && /^\w+(\[[^\]]*\])?\+?=/.test(word);
}
