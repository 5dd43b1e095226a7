import { evaluators, shells } from "./shell-programs.ts";
import { notTold } from "./told-words.ts";

/** What the arguments of a program give it to run as a script, by the manual of each program. */

/** The script among a program's arguments, if it runs one. */
export function findScript(name: string, rest: readonly string[]): string | undefined {
  const find = finders.get(name);
  if (find) return find(rest);
  if (evaluators.has(name)) return rest.flatMap(separateScript).join("\n");
  return shells.has(name) ? findShellScript(name, rest) : undefined;
}

/** Of builtins, and of programs with a way of their own. */
const finders = new Map<string, (rest: readonly string[]) => string | undefined>([
  ["eval", (rest) => rest.slice(rest[0] === "--" ? 1 : 0).join(" ")],
  // `bind -x '"key": command'`, where it is pressed.
  ["bind", (rest) => findBehind("-x", rest)?.replace(/^[^:]*:/, "")],
  ["trap", (rest) => rest.find((word) => !word.startsWith("-"))],
  ["alias", (rest) => rest.map((word) => word.replace(/^[^=]*=?/, "")).join("\n")],
  ["mapfile", (rest) => findBehind("-C", rest)],
  ["readarray", (rest) => findBehind("-C", rest)],
  ["compgen", (rest) => findBehind("-C", rest)],
  ["complete", (rest) => findBehind("-C", rest)],
  ["env", findSplitString],
  ["npx", findCall],
  ["npm", ([command = "", ...rest]) => (/^(?:exec|x)$/.test(command) ? findCall(rest) : undefined)],
  ["pwsh", findPowerShellScript],
  ["powershell", findPowerShellScript],
]);

function findBehind(option: string, rest: readonly string[]): string | undefined {
  return rest[rest.indexOf(option) + 1 || rest.length];
}

/** The `<(…)` that is read as a script: of a shell with `-c`, only the file of its start. */
export function findReadFile(name: string, rest: readonly string[], hasScript: boolean): string | undefined {
  if (!/^(?:source|\.)$/.test(name) && !shells.has(name)) return undefined;
  return rest.find(
    (word, index) =>
      word.startsWith("<(") && (!hasScript || /^--(?:init-file|rcfile)$/.test(rest[index - 1] ?? "")),
  );
}

/** `-c'git push'` of `su`, `script` and `flock` as two words. */
function separateScript(word: string): string[] {
  const script = /^(?:-\w*?c|--(?:session-)?command=)(.+)$/s.exec(word)?.[1];
  return script === undefined ? [word] : [word, script];
}

/** `env -S` splits its value into words, as `#!` lines need it. Its escapes for blanks count as blanks. */
function findSplitString(rest: readonly string[]): string | undefined {
  const at = rest.findIndex((word) => /^(?:-[0iv]*S|--split-string)/.test(word));
  if (at < 0) return undefined;
  const attached = (rest[at] ?? "").replace(/^(?:-[0iv]*S|--split-string=?)/, "");
  const words = [attached, ...rest.slice(at + 1)];
  return words.join(" ").replaceAll(/\\[_tnrfv]/g, " ");
}

/** `npx -c 'git push'`, which gives it to a shell; behind the name of a program, `-c` is that program's. */
function findCall(rest: readonly string[]): string | undefined {
  const isProgram = (word: string, index: number) =>
    !word.startsWith("-") && !/^(?:-[cpw]|--(?:call|package|workspace))$/.test(rest[index - 1] ?? "");
  const end = rest.findIndex(isProgram);
  const options = end < 0 ? rest : rest.slice(0, end);
  const at = options.findIndex((word) => /^(?:-c$|--call(?:=|$))/.test(word));
  return /^--call=(.*)$/s.exec(options[at] ?? "")?.[1] ?? options[at + 1 || options.length];
}

/** What PowerShell is given to run: all words behind `-Command`, which may be cut short as its other options. */
function findPowerShellScript(rest: readonly string[]): string | undefined {
  let mayBeValue = false;
  for (const [index, word] of rest.entries()) {
    const option = /^--?(\w+)$/.exec(word)?.[1]?.toLowerCase() ?? "";
    // The file of a script: its arguments follow.
    if (option === "" ? !mayBeValue : "file".startsWith(option)) return undefined;
    mayBeValue = option !== "";
    if (option === "") continue;
    if ("commandwithargs".startsWith(option) || option === "cwa") {
      const script = rest.slice(index + 1).join(" ");
      // Read from elsewhere.
      return script === "-" ? undefined : script;
    }
    if ("encodedcommand".startsWith(option) || option === "ec") return notTold;
  }
  return undefined;
}

/** `bash -c` and the spellings of fish, with the arguments in the places of `$0`, `$1` and `$@`. */
function findShellScript(name: string, rest: readonly string[]): string | undefined {
  const own = ownOptions.get(name);
  const at = rest.findIndex((word) => /^(?:-\w*c|--(?:init-)?command)/.test(word) || own?.includes(word));
  if (at < 0) return undefined;
  const attached = /^--(?:init-)?command=(.*)$/s.exec(rest[at] ?? "")?.[1];
  if (attached !== undefined) return attached;
  // Behind it other options may follow, and `-o` takes the next word.
  const from = rest.findIndex(
    (word, index) => index > at && !/^[-+]/.test(word) && !/^[-+]\w*[oO]\w*$/.test(rest[index - 1] ?? ""),
  );
  return from < 0 ? undefined : fillArguments(rest[from] ?? "", rest.slice(from + 1));
}

/** Options of other shells that mean the same. */
const ownOptions = new Map([
  ["fish", ["-C"]],
  ["nu", ["-e", "--execute"]],
]);

/** `$1`, `${@:2}` and `${1:-x}`, alone in quotes or not. */
const argument = /"\$(?:([\d@*])|\{(\d+|[@*])([^{}]*)\})"|\$(?:([\d@*])|\{(\d+|[@*])([^{}]*)\})/g;

/** A script that would be longer counts as not told: it may name its arguments often. */
const maxFilled = 1 << 16;

function fillArguments(script: string, values: readonly string[]): string {
  if (values.length === 0) return script;
  const quoted = values.map((value) => `'${value.replaceAll("'", `'\\''`)}'`);
  let added = 0;
  const filled = script.replaceAll(argument, (whole, ...[a, b, c, d, e, f]: (string | undefined)[]) => {
    if (added > maxFilled) return "";
    const value = expandArgument(a ?? b ?? d ?? e ?? "", c ?? f ?? "", quoted) ?? whole;
    added += value.length;
    return value;
  });
  return added > maxFilled ? notTold : filled;
}

/** Undefined where the script itself says what stands there: `${1:-push}` without `$1`. */
function expandArgument(name: string, change: string, quoted: readonly string[]): string | undefined {
  const isAll = name === "@" || name === "*";
  const given = (isAll ? sliceArguments(change, quoted) : quoted.slice(Number(name), Number(name) + 1)).join(
    " ",
  );
  const isMissing = given === "" || given === "''";
  return /^:?\+/.test(change) || (change !== "" && isMissing) ? undefined : given;
}

/** `${@:2:1}`, and for anything else all but `$0`. */
function sliceArguments(change: string, quoted: readonly string[]): readonly string[] {
  const [, from, count] = /^:(\d+|\s+-\d+)(?::(\d+))?$/.exec(change) ?? [];
  if (from === undefined) return quoted.slice(1);
  const behind = quoted.slice(Number(from));
  return count === undefined ? behind : behind.slice(0, Number(count));
}

/**
 * Programs that start a shell where they are given no command, with their options that take the next word, and how many
 * other words may stand there without being a command (the host of `ssh`).
 */
const shellStarters = new Map<string, { valued: string; others: number; needs?: RegExp }>([
  ["ssh", { valued: "BbcDEeFIiJLlmOoPpQRSWw", others: 1 }],
  ["su", { valued: "gGswT", others: 2 }],
  ["sudo", { valued: "ughpCDRrtTU", others: 0, needs: /^(?:-\w*[si]|--shell$|--login$)/ }],
  ["doas", { valued: "uC", others: 0, needs: /^-\w*s/ }],
  ["newgrp", { valued: "", others: 1 }],
  ["sg", { valued: "", others: 1 }],
  ["chroot", { valued: "", others: 1 }],
  ["unshare", { valued: "SG", others: 0 }],
  ["nsenter", { valued: "tSG", others: 0 }],
  ["script", { valued: "", others: 1 }],
]);

/** Whether it starts a shell that reads its commands, as in `echo … | ssh host`. */
export function startsShell(name: string, rest: readonly string[]): boolean {
  const starter = shellStarters.get(name);
  if (!starter || (starter.needs && !rest.some((word) => starter.needs?.test(word)))) return false;
  let others = 0;
  for (const [index, word] of rest.entries()) {
    const option = /^-(\w)$/.exec(rest[index - 1] ?? "")?.[1];
    const isValue = option !== undefined && starter.valued.includes(option);
    if (!isValue && !word.startsWith("-")) others += 1;
    if (/^(?:-\w*c|--(?:session-)?command)/.test(word) && name !== "ssh") return false;
  }
  return others <= starter.others;
}

/** Builtins that take the name of a variable and evaluate what stands in its brackets. */
const naming = new Set([
  ...[
    "printf",
    "read",
    "unset",
    "test",
    "[",
    "[[",
    "let",
    "declare",
    "typeset",
    "local",
    "export",
    "mapfile",
  ],
]);

/** `[[ -v 'a[$(git push)]' ]]` runs what the brackets substitute, quoted or not. */
export function findSubscripts(name: string, rest: readonly string[]): string | undefined {
  const found = naming.has(name) ? rest.filter((word) => word.includes("[") && /\$\(|`/.test(word)) : [];
  return found.length === 0 ? undefined : [...new Set(found)].join("\n");
}
