/**
 * Takes a shell script apart into what it runs, for rules about commands. It need not understand the shell: it must
 * not miss what is written plainly. Where it cannot tell, it gives too many commands rather than too few.
 */

/** Deeper nesting is not followed but taken apart roughly. */
const maxDepth = 12;
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
 * Every simple command of the script, words parted by one space, without quotes, redirections and leading
 * assignments. What is substituted (`$(…)`, backticks, `<(…)`), what `sh -c` and `eval` are given, and what stands
 * behind `sudo`, `env`, `xargs` and their like comes as well, beside the command that runs it.
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
  const { commands, certain } = takeApart(script, depth);
  for (const words of commands) {
    derive(words, depth, found);
    const bare = words.map((word) => word.replaceAll(expansion, "")).filter(Boolean);
    // At the end of a command nothing is what it may stand for in any case.
    if (bare.some((word, index) => word !== words[index])) derive(bare, depth, found);
  }
  if (certain && !commands.some(readsCommands)) return;
  // A quote without its end, a here-document, a shell behind a pipe: the quotes may hide commands, so they do not count.
  // Looking back, so that a long number is not read again from each of its digits.
  const bare = script.replaceAll("<<<", ";").replaceAll(/(?<!\d)\d*[<>]+[&|]?[ \t]*[^\s;&|()]*/g, " ");
  for (const piece of bare.split(/[;&|()`{}"'\n]/))
    derive(piece.split(/\s+/).filter(Boolean), maxDepth, found);
}

/** The command itself, and those that it is known to run. */
function derive(all: readonly string[], depth: number, found: Found, wrapped = maxWrapped): void {
  let words = all;
  for (let before = wordsBefore(words); before > 0; before = wordsBefore(words)) words = words.slice(before);
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
  const given = scriptGivenTo(name, rest);
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
function scriptGivenTo(name: string, rest: readonly string[]): string | undefined {
  if (name === "eval") return rest.slice(rest[0] === "--" ? 1 : 0).join(" ");
  if (evaluators.has(name)) return rest.join("\n");
  if (name === "trap") return rest.find((word) => !word.startsWith("-"));
  if (name === "alias") return rest.map((word) => word.replace(/^[^=]*=?/, "")).join("\n");
  const option = shells.has(name) ? rest.findIndex((word) => /^-\w*c/.test(word)) : -1;
  return option < 0 ? undefined : rest.slice(option + 1).find((word) => !/^[-+]/.test(word));
}

/** How many words stand before the command and are no part of it; 0 when it begins here. */
function wordsBefore([first = "", second, third]: readonly string[]): number {
  if (first === "function") return 2;
  if (first === "coproc" && third === "{") return 2;
  if (first === "time" && second === "-p") return 2;
  return grammar.has(first) || /^\w+(\[[^\]]*\])?\+?=/.test(first) ? 1 : 0;
}

/** The character behind a backslash in `$'…'`: `x67`, `u0067`, `147`. */
function decoded(code: string): string {
  const number = /^[0-7]/.test(code) ? Number.parseInt(code, 8) : Number.parseInt(code.slice(1), 16);
  return number <= 0x10_ff_ff ? String.fromCodePoint(number) : "";
}

interface Parts {
  commands: string[][];
  /** False when quotes or a here-document leave open where commands begin. */
  certain: boolean;
}

/** Reads the grammar of words, quotes, substitutions and separators. */
function takeApart(script: string, startDepth: number): Parts {
  const commands: string[][] = [];
  let certain = true;
  let at = 0;

  /** Reads commands until `end`, or to the end of the script. */
  const list = (end: string, depth: number): void => {
    let words: string[] = [];
    let word: string | undefined;
    let redirected = false;
    /** Of subshells. */
    let parentheses = 0;
    const endWord = () => {
      if (word !== undefined && !redirected) words.push(word);
      if (word !== undefined) redirected = false;
      word = undefined;
    };
    const endCommand = () => {
      endWord();
      redirected = false;
      // The parentheses of its patterns have no partner.
      if (words.includes("case")) certain = false;
      commands.push(words);
      words = [];
    };
    const add = (text: string) => {
      word = (word ?? "") + text;
    };
    for (;;) {
      const char = script[at];
      if (char === undefined || (char === end && parentheses === 0)) {
        if (char !== end && end !== "") certain = false;
        at += 1;
        endCommand();
        return;
      }
      const next = script[at + 1];
      if (char === "#" && word === undefined) {
        const line = script.indexOf("\n", at);
        at = line < 0 ? script.length : line;
      } else if (isSubstitution(char, next)) {
        add(substitution(depth));
      } else if (char === "'" || char === '"' || (char === "$" && next === "'")) {
        add(quoted(depth));
      } else if (char === "\\") {
        // A backslash before a new line joins two lines. Before these it may be for backticks around it.
        if (next === "`" || next === "\\") certain = false;
        if (next !== "\n") add(next ?? "");
        at += 2;
      } else if (char === "<" || char === ">") {
        const operator = /^(<<<|<<-?|[<>][&>|]?)/.exec(script.slice(at, at + 3))?.[0] ?? char;
        if (operator === "<<" || operator === "<<-") certain = false;
        if (/^\d+$/.test(word ?? "")) word = undefined;
        endWord();
        redirected = true;
        at += operator.length;
      } else if (/[;&|()\n]/.test(char)) {
        endCommand();
        if (char === "(") parentheses += 1;
        if (char === ")") parentheses = Math.max(0, parentheses - 1);
        at += 1;
      } else if (/\s/.test(char)) {
        endWord();
        at += 1;
      } else {
        add(char);
        at += 1;
      }
    }
  };

  const isSubstitution = (char: string, next: string | undefined) =>
    char === "`" || ((char === "$" || char === "<" || char === ">") && next === "(");

  /** Reads `$(…)` and its like, and gives its text. */
  const substitution = (depth: number): string => {
    const from = at;
    const isBacktick = script[at] === "`";
    at += isBacktick ? 1 : 2;
    if (depth < maxDepth) list(isBacktick ? "`" : ")", depth + 1);
    else {
      certain = false;
      at = script.length;
    }
    return script.slice(from, at);
  };

  /** Reads a quoted piece of a word, and gives its text. */
  const quoted = (depth: number): string => {
    const isDouble = script[at] === '"';
    // Only in $'…' a backslash may stand before the quote.
    const escapes = isDouble || script[at] === "$";
    const end = isDouble ? '"' : "'";
    let text = "";
    at += script[at] === "$" ? 2 : 1;
    for (;;) {
      const char = script[at];
      if (char === end || char === undefined) {
        if (char === undefined) certain = false;
        at += 1;
        return text;
      }
      const coded =
        end === "'" && escapes
          ? /^\\(x\p{AHex}{1,2}|u\p{AHex}{1,4}|U\p{AHex}{1,8}|[0-7]{1,3})/u.exec(script.slice(at, at + 10))
          : null;
      if (coded) {
        text += decoded(coded[1] ?? "");
        at += coded[0].length;
      } else if (char === "\\" && escapes) {
        if (script[at + 1] === "`") certain = false;
        text += script[at + 1] ?? "";
        at += 2;
      } else if (isDouble && isSubstitution(char, script[at + 1]) && !"<>".includes(char)) {
        text += substitution(depth);
      } else {
        text += char;
        at += 1;
      }
    }
  };

  list("", startDepth);
  return { commands: commands.filter((words) => words.length > 0), certain };
}
