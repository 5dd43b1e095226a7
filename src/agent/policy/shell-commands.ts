import { maxDepth, readScript } from "./read-script.ts";

/**
 * Splits a shell script into the commands that it runs, for rules about commands. It need not understand the shell, but
 * must not miss what is written plainly. In doubt it returns too many commands rather than too few.
 */

/** So many words of `sudo -u x env A=1 …` are taken for the beginning of a command. */
const maxWrapped = 24;

/** Words of the grammar that may stand before a command. */
const grammar = new Set([
  ...["{", "}", "!", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac"],
  ...["time", "coproc"],
]);
/** They begin a line that holds no command of its own: what it substitutes and what follows is found by itself. */
const headers = new Set(["for", "case", "select"]);

const shells = new Set(["sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "fish"]);

/** Programs that may hand what is behind them to a shell. */
const evaluators = new Set(["su", "ssh", "script", "watch", "parallel", "flock"]);

/** Programs that run what is behind them, after options that we do not know. */
const wrappers = new Set([
  ...evaluators,
  ...["sudo", "doas", "env", "command", "builtin", "exec", "nohup", "nice", "ionice", "chrt", "timeout"],
  ...["xargs", "setsid", "stdbuf", "busybox", "find", "unshare", "chroot", "strace"],
]);

/**
 * Every simple command of the script, its words joined by one space, without quotes, redirections and leading
 * assignments. What is substituted (`$(…)`, backticks, `<(…)`), what `sh -c` and `eval` are given, and what follows
 * `sudo`, `env`, `xargs` and their like is listed too, besides the command that runs it.
 *
 * ```ts
 * splitCommands("cd x && sudo make > log"); // ["cd x", "sudo make", "make"]
 * ```
 */
export function splitCommands(script: string): string[] {
  const found: Found = new Map();
  collect(script, 0, found);
  return [...new Set(found.values())];
}

/** Commands by their words, NUL between them: a quoted one looks like several otherwise. */
type Found = Map<string, string>;

/** It may stand for nothing at all, and then the words around it are what runs. */
const expansion = /\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}|\$(?:\w+|[@*#?!-])/g;

function collect(script: string, depth: number, found: Found): void {
  const { commands, isCertain } = readScript(script, depth);
  for (const words of commands) {
    derive(words, depth, found);
    const bare = words.map((word) => word.replaceAll(expansion, "")).filter(Boolean);
    // At the end of a command nothing is what it may stand for in any case.
    if (bare.some((word, index) => word !== words[index])) derive(bare, depth, found);
  }
  if (isCertain && !commands.some(readsCommands)) return;
  // A quote without its end, a here-document, a shell behind a pipe: the quotes may hide commands, so they do not count.
  // Looking back, so that a long number is not read again from each of its digits.
  const bare = script.replaceAll("<<<", ";").replaceAll(/(?<!\d)\d*[<>]+[&|]?[ \t]*[^\s;&|()]*/g, " ");
  for (const piece of bare.split(/[;&|()`{}"'\n]/))
    derive(piece.split(/\s+/).filter(Boolean), maxDepth, found);
}

/** The command itself, and those that it is known to run. */
function derive(all: readonly string[], depth: number, found: Found, wrapped = maxWrapped): void {
  let words = all;
  for (let before = countWordsBefore(words); before > 0; before = countWordsBefore(words))
    words = words.slice(before);
  const [program, ...rest] = words;
  if (program === undefined || headers.has(program)) return;
  if (found.has(words.join("\0"))) return;
  found.set(words.join("\0"), words.join(" "));
  const name = program.replace(/^.*\//, "");
  found.set([name, ...rest].join("\0"), [name, ...rest].join(" "));
  if (wrappers.has(name)) {
    for (let n = 0; n < Math.min(rest.length, wrapped); n += 1)
      derive(rest.slice(n), depth, found, wrapped - n - 1);
  }
  if (depth >= maxDepth) return;
  const given = findScript(name, rest);
  if (given !== undefined) collect(given, depth + 1, found);
}

/** Whether a shell reads its commands from what the script puts before it, as in `echo … | sh`. */
function readsCommands(words: readonly string[]): boolean {
  const isShell = (word: string) => shells.has(word.replace(/^.*\//, ""));
  const has = (pattern: RegExp) => words.some((word) => pattern.test(word));
  // Only options behind it, and no name of a file.
  if (isShell(words.findLast((word) => !/^[-+]/.test(word)) ?? "")) return true;
  const shell = words.some(isShell);
  return (shell && has(/^-\w*s$/)) || ((shell || has(/^(source|\.)$/)) && has(/^(<\(|\/dev\/)/));
}

/** The script among a program's arguments, if it runs one. */
function findScript(name: string, rest: readonly string[]): string | undefined {
  if (name === "eval") return rest.slice(rest[0] === "--" ? 1 : 0).join(" ");
  if (evaluators.has(name)) return rest.join("\n");
  if (name === "trap") return rest.find((word) => !word.startsWith("-"));
  if (name === "alias") return rest.map((word) => word.replace(/^[^=]*=?/, "")).join("\n");
  const option = shells.has(name) ? rest.findIndex((word) => /^-\w*c/.test(word)) : -1;
  return option < 0 ? undefined : rest.slice(option + 1).find((word) => !/^[-+]/.test(word));
}

/** How many words stand before the command and are no part of it; 0 when it begins here. */
function countWordsBefore([first = "", second, third]: readonly string[]): number {
  if (first === "function") return 2;
  if (first === "coproc" && third === "{") return 2;
  if (first === "time" && second === "-p") return 2;
  return grammar.has(first) || /^\w+(\[[^\]]*\])?\+?=/.test(first) ? 1 : 0;
}
