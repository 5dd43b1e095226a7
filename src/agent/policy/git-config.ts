/** Settings of git that name programs: what `git -c` and git's variables make it run. */

/** What runs besides the command itself: scripts for a shell, and commands as words. */
export interface Configured {
  scripts: string[];
  commands: string[][];
}

/** Keys whose value is a command line, from git-config(1). */
const programs =
  /^(?:core\.(?:pager|editor|sshcommand|gitproxy|fsmonitor|askpass)|pager\.\w+|sequence\.editor|diff\.external|interactive\.difffilter|(?:diff|merge|mergetool|difftool|filter|trailer|browser|man|credential|gpg|remote|uploadpack|sendemail)\.(?:.*\.)?(?:command|cmd|textconv|driver|clean|smudge|process|helper|program|uploadpack|receivepack|packobjectshook|\w+cmd))$/i;

/** Variables with the same meaning, git(1) and those that it reads from the environment. */
const programVariables =
  /^(?:GIT_(?:SSH|SSH_COMMAND|PAGER|EDITOR|SEQUENCE_EDITOR|EXTERNAL_DIFF|ASKPASS|PROXY_COMMAND)|SSH_ASKPASS|PAGER|MANPAGER|EDITOR|VISUAL|BROWSER|LESSOPEN|PROMPT_COMMAND)=(.*)$/s;

/** Values that nobody means to judge: they are no programs, or show what they are given. */
const harmless = /^(?:|true|false|:|cat|less(?: -\w+)*|more)$/;

/** The command line that an assignment before a command gives to it. */
export function findVariableProgram(assignment: string): string | undefined {
  const value = programVariables.exec(assignment)?.[1];
  return value === undefined || harmless.test(value) ? undefined : value;
}

/** What `git -c key=value …` runs: an alias where it is the subcommand, and programs that it sets. */
export function findConfigured(rest: readonly string[]): Configured {
  const found: Configured = { scripts: [], commands: [] };
  const known = new Set(rest);
  for (const [index, word] of rest.entries()) {
    const [, key = "", value = ""] = /^([^=]+)=(.*)$/s.exec(rest[index - 1] === "-c" ? word : "") ?? [];
    const alias = /^alias\.(.+)$/i.exec(key)?.[1];
    const at = alias !== undefined && known.has(alias) ? rest.indexOf(alias, index + 1) : -1;
    if (at >= 0) addAlias(value, rest.slice(at + 1), found);
    else if (programs.test(key) && !harmless.test(value)) found.scripts.push(value.replace(/^!/, ""));
    if (found.scripts.length + found.commands.length < maxSettings) continue;
    // No plain command has so many: what the others run counts as not told.
    return { ...found, scripts: [...found.scripts, "$(cat)"] };
  }
  return found;
}

const maxSettings = 16;

function addAlias(value: string, behind: readonly string[], found: Configured): void {
  if (value.startsWith("!")) found.scripts.push([value.slice(1), ...behind].join(" "));
  else found.commands.push(["git", ...value.split(/\s+/).filter(Boolean), ...behind]);
}
