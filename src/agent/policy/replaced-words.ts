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

/** The command's words with `{}` where `-I` has named another sign. */
export function nameHole(own: readonly string[]): readonly string[] {
  const at = own.findIndex((word) => /^(?:-I|--replace=)/.test(word));
  if (at < 0) return own;
  const attached = (own[at] ?? "").replace(/^(?:-I|--replace=)/, "");
  const from = at + (attached === "" ? 2 : 1);
  const sign = attached === "" ? own[at + 1] : attached;
  return sign ? own.map((word, index) => (index < from ? word : word.replaceAll(sign, "{}"))) : own;
}
