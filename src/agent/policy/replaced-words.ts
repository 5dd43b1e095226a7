/** The sign in a command of xargs and parallel in whose place they put what they read. */

/** A command with what is read in the place of `{}`; what is all of a word follows the command's words instead. */
export function fillHoles(command: readonly string[], words: readonly string[]): readonly string[] {
  if (!command.some((word) => word.includes("{}"))) return command;
  return command.flatMap((word) => fillHole(word, words));
}

function fillHole(word: string, words: readonly string[]): string[] {
  if (!word.includes("{}")) return [word];
  if (word === "{}") return [];
  const value = words.join(" ");
  // What is not known counts as the output of a program that is not told.
  const isKnown = value !== "" && value.length <= maxFilled;
  return [
    word
      .split("{}")
      .slice(0, maxHoles)
      .join(isKnown ? value : "$(cat)"),
  ];
}

const maxFilled = 1_024;
const maxHoles = 16;

/** The command's words with `{}` where `-I` or `-i`, alone or behind other letters, has named another sign. */
export function nameHole(own: readonly string[]): readonly string[] {
  const at = own.findIndex((word) => naming.test(word));
  const [, option = "", attached = ""] = naming.exec(own[at] ?? "") ?? [];
  const takesNext = attached === "" && /[IJ]$/.test(option);
  const sign = takesNext ? own[at + 1] : attached;
  const from = at + (takesNext ? 2 : 1);
  return sign ? own.map((word, index) => (index < from ? word : word.replaceAll(sign, "{}"))) : own;
}

const naming = /^(-[0oprtx]*[IJi]|--replace=)(.*)$/s;

/** parallel's `{1}`, `{.}` and `{/}` as `{}`. */
export function simplifyHoles(own: readonly string[]): readonly string[] {
  return own.map((word) => (word.includes("{") ? word.replaceAll(/\{[-+\d]*[./]*\}/g, "{}") : word));
}

/** Where the command begins behind options of xargs and parallel and their values; -1 without any. */
export function findCommand(own: readonly string[]): number {
  return own.findIndex((word, index) => !word.startsWith("-") && !valued.test(own[index - 1] ?? ""));
}

const valued =
  /^(?:-[0kopqrtuvx]*[aCdEIjJLnNPRsS]|--(?:arg-?file|colsep|delay|delimiter|halt|joblog|jobs|max-args|max-chars|max-procs|process-slot-var|results|retries|timeout|workdir))$/;
