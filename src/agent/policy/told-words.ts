import { decodeEscapes, maxDepth, type ReadCommand, readScript } from "./read-script.ts";
import { nameProgram } from "./shell-programs.ts";

/**
 * What one command gives to another, through a pipe or in place of a substitution, as far as the script says it:
 * `echo`, `printf` and what passes on a here-string say it, a file or a download does not.
 */

/** As a script, what a program prints whose output is not told. */
export const notTold = "$(cat)";

/** What a shell reads, as a script; undefined when it cannot be told. */
export function tellFed({ given, fedBy }: ReadCommand, pipes = maxPipes): string | undefined {
  // A here-document's lines are judged where they stand.
  if (given.length > 0) return tellGiven(given.filter((text) => text !== undefined));
  return fedBy && pipes > 0 ? tellOutput(fedBy, pipes - 1) : undefined;
}

/** Substitutions that are not told stay, for whoever reads the script to judge. */
function tellGiven(given: readonly string[]): string {
  return given
    .map((text) => {
      const told = tellSubstituted(text);
      return told.isTold ? told.text : text;
    })
    .join("\n");
}

/** Longer pipelines are not followed. */
const maxPipes = 8;

function tellOutput(command: ReadCommand, pipes = maxPipes): string | undefined {
  const words = command.words.slice(/^[({]$/.test(command.words[0] ?? "") ? 1 : 0);
  const [program = "", ...rest] = words;
  const name = nameProgram(program);
  if (name === "echo") return tellText(rest.slice(rest.findIndex((word) => !/^-[neE]+$/.test(word))));
  if (name === "printf") return tellText([fillFormat(rest.filter((word) => word !== "--"))]);
  // They pass on what they read, unless they are given a file; `tee` writes its own.
  const passes = (name === "cat" && rest.every((word) => word === "-")) || name === "tee";
  return passes ? tellFed(command, pipes) : undefined;
}

/** Words with holes in them tell nothing; line breaks of `printf` and `echo -e` part commands. */
function tellText(words: readonly string[]): string | undefined {
  const text = words.join(" ");
  if (/\$[\w({@*#?!-]|`/.test(text)) return undefined;
  return decodeEscapes(text.replaceAll(/\\n|\\r/g, "\n").replaceAll(/\\[tv]/g, " "));
}

/** `printf`'s format with its arguments in their places; what is left over follows. */
function fillFormat([format = "", ...values]: readonly string[]): string {
  let used = 0;
  const filled = format.replaceAll(/%[-\d.]*[sbdq]/g, () => {
    used += 1;
    return values[used - 1] ?? "";
  });
  return [filled, ...values.slice(used)].join(" ");
}

/** Substitutions without others inside. */
const substitution = /\$\(([^()]*)\)|`([^`]*)`/g;

/** Longer ones are not taken apart. */
const maxChars = 4_096;

/**
 * The word with what its substitutions give, and whether one of them is not told. `$(command -v x)` gives the name of
 * a program.
 */
export function tellSubstituted(word: string): { text: string; isTold: boolean } {
  if (!/[`(]/.test(word)) return { text: word, isTold: true };
  let isTold = !/\$\([^()]*\(/.test(word);
  const text = word.replaceAll(substitution, (_whole, inner: string = "", quoted: string = "") => {
    const told = tellScript(inner || quoted);
    isTold &&= told !== undefined;
    return told ?? "";
  });
  return { text, isTold };
}

function tellScript(script: string): string | undefined {
  if (script.length > maxChars) return undefined;
  const { commands, isCertain } = readScript(script, maxDepth);
  const [command, another] = commands;
  if (!command || another || !isCertain)
    return script.trim() === "" || script.trim() === "true" ? "" : undefined;
  const [program = "", option, name] = command.words;
  if (program === "true" || program === ":") return "";
  if (program === "which" && command.words.length === 2) return option;
  if (program === "command" && option === "-v" && command.words.length === 3) return name;
  return tellOutput(command);
}
