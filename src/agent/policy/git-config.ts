import { splitWords } from "./read-script.ts";
import { notTold } from "./told-words.ts";

/** Settings that name programs: what variables before a command, and `git -c`, make it run. */

/** What runs besides the command itself: a script for a shell, or a command as words. */
export type Configured = { script: string } | { words: string[] };

/** Keys whose value is a command line, from git-config(1). */
const programs =
  /^(?:core\.(?:pager|editor|sshcommand|gitproxy|fsmonitor|askpass|alternaterefscommand)|gc\.recentobjectshook|pager\.\w+|sequence\.editor|diff\.external|interactive\.difffilter|(?:diff|merge|mergetool|difftool|filter|trailer|browser|man|credential|gpg|remote|uploadpack|sendemail|tar)\.(?:.*\.)?(?:\w*command|cmd|textconv|driver|clean|smudge|process|helper|program|uploadpack|receivepack|packobjectshook|\w+cmd))$/i;

/** Variables with the same meaning, git(1) and those that it reads from the environment. */
const programVariables =
  /^(?:GIT_(?:SSH|SSH_COMMAND|PAGER|EDITOR|SEQUENCE_EDITOR|EXTERNAL_DIFF|ASKPASS|PROXY_COMMAND)|SSH_ASKPASS|PAGER|MANPAGER|EDITOR|VISUAL|BROWSER|LESSOPEN|LESSCLOSE|PROMPT_COMMAND|PS[0-4])$/;

/** Values that nobody means to judge: they are no programs, or show what they are given. */
const harmless = /^(?:|true|false|:|cat|less(?: -\w+)*|more)$/;

/** The script that an assignment, before a command or by `export`, gives to what runs behind it. */
export function findVariableProgram(assignment: string): string | undefined {
  const [, name = "", value = ""] = /^(\w+)\+?=(.*)$/s.exec(assignment) ?? [];
  if (harmless.test(value)) return undefined;
  if (programVariables.test(name)) return value;
  // What a shell reads at its start.
  if (/^(?:BASH_)?ENV$/.test(name)) return value.startsWith("<(") ? `. ${value}` : undefined;
  // git-config(1), "Environment": settings in pairs of variables, and those that `git -c` hands on, quoted.
  if (/^GIT_CONFIG_VALUE_\d+$/.test(name)) return scriptOfSetting(value);
  if (name !== "GIT_CONFIG_PARAMETERS") return undefined;
  return value
    .split("=", maxSettings + 1)
    .slice(1)
    .map((part) => scriptOfSetting(part.replaceAll("'", " ").trim()))
    .join("\n");
}

/** What a setting may run whose key is not known: an alias for a shell or of a subcommand, or a program. */
function scriptOfSetting(value: string): string {
  return value.startsWith("!") ? value.slice(1) : `git ${value}\n${value}`;
}

/** What `git -c key=value …` runs: an alias where it is the subcommand, and programs that it sets. */
export function* findConfigured(rest: readonly string[]): Generator<Configured, void> {
  let found = 0;
  // Made for the first alias. All words are not looked through for each of many.
  let known: KnownWords | undefined;
  const know = () => (known ??= { words: new Set(rest), aliases: listAliases(rest) });
  for (const [index, word] of rest.entries()) {
    const isSetting = rest[index - 1] === "-c" && (yield* readSetting(word, rest, index, know));
    // Its value stands in a variable, which counts as not told.
    const named = rest[index - 1] === "--config-env" ? word : /^--config-env=(.*)$/s.exec(word)?.[1];
    const isHidden = named !== undefined && namesProgram(named);
    if (isHidden) yield { script: notTold };
    found += Number(isSetting) + Number(isHidden);
    if (found < maxSettings) continue;
    // No plain command has so many: what the others run counts as not told.
    yield { script: notTold };
    return;
  }
}

interface KnownWords {
  words: ReadonlySet<string>;
  /** Their values by their names. */
  aliases: ReadonlyMap<string, string>;
}

/** Gives whether the setting runs anything. */
function* readSetting(
  word: string,
  rest: readonly string[],
  at: number,
  know: () => KnownWords,
): Generator<Configured, boolean> {
  const [, key = "", value = ""] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
  const alias = /^alias\.(.+)$/i.exec(key)?.[1];
  const used = alias !== undefined && know().words.has(alias) ? rest.indexOf(alias, at + 1) : -1;
  if (used >= 0) {
    const behind = rest.slice(used + 1);
    for (const expanded of expandAlias(value, know().aliases)) yield fillAlias(expanded, behind);
    return true;
  }
  const isProgram = programs.test(key) && !harmless.test(value);
  if (isProgram) yield { script: value.replace(/^!/, "") };
  return isProgram;
}

function namesProgram(setting: string): boolean {
  return /^alias\./i.test(setting) || programs.test(setting.replace(/=.*$/s, ""));
}

const maxSettings = 16;

/** The last one of a name counts, as for git. */
function listAliases(rest: readonly string[]): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>();
  for (const [index, word] of rest.entries()) {
    const [, name, value = ""] = (rest[index - 1] === "-c" && /^alias\.([^=]+)=(.*)$/is.exec(word)) || [];
    if (name !== undefined) aliases.set(name, value);
  }
  return aliases;
}

/** The value of an alias, and what it becomes where it begins with another one that is no command of git's. */
function* expandAlias(value: string, aliases: ReadonlyMap<string, string>): Generator<string, void> {
  const seen = new Set<string>();
  let expanded = value;
  for (;;) {
    yield expanded;
    const [, name = "", behind = ""] = /^\s*(\S+)(.*)$/s.exec(expanded) ?? [];
    const next = aliases.get(name);
    if (next === undefined || seen.has(name)) return;
    seen.add(name);
    expanded = seen.size < maxSettings ? next + behind : `!${notTold}`;
  }
}

function fillAlias(value: string, behind: readonly string[]): Configured {
  if (value.startsWith("!")) return { script: [value.slice(1), ...behind].join(" ") };
  return { words: ["git", ...splitWords(value.replaceAll(/["'\\]/g, "")), ...behind] };
}
