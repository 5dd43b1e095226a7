import { largestConstant, type Mutant } from "./mutant.ts";

const swaps: Record<string, readonly string[]> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
  "==": ["~="],
  "~=": ["=="],
  "+": ["-"],
  "-": ["+"],
  "*": ["/"],
  "/": ["*"],
  and: ["or"],
  or: ["and"],
  not: [""],
  true: ["false"],
  false: ["true"],
  min: ["max"],
  max: ["min"],
  '"RPUSH"': ['"LPUSH"'],
  '"NX"': ['"XX"'],
};

const token =
  /(?<comment>--\[\[[\s\S]*?\]\]|--[^\n]*)|"(?:[^"\\\n]|\\.)*"|(?<number>\d+(?:\.\d+)?(?:e\d+)?)|[A-Za-z_]\w*|[=~<>]=|[-+*/<>]|[^\s]/g;

/** A statement of one line that does something, or returns. */
const statement = /^[ \t]*(?:redis\.call\(.*\)|(?!for |local )[\w.[\]#+ ]+ = .*[^{(,])$|^[ \t]+return\b.*$/gm;

const condition = /\b(?:else)?if (?!not )(.+) then$/gm;

/** One whose opposite is tried with its operator. */
const comparison = /^(?!.* (?:and|or) ).* [=~<>]=? .*$|[=~]=/;

/** Mutants of a Lua script, by its tokens and lines. */
export function luaMutants(source: string): Mutant[] {
  const mutants: Mutant[] = [];
  const comments: [from: number, to: number][] = [];
  let before = "";
  for (const { 0: found, index: start, groups } of source.matchAll(token)) {
    const end = start + found.length;
    if (groups?.["comment"] !== undefined) {
      comments.push([start, end]);
      continue;
    }
    // A sign is no operator.
    const isSign = found === "-" && !/[\w\])"]$/.test(before);
    if (!isSign && !/^return$/.test(before))
      for (const replacement of swaps[found] ?? []) mutants.push({ start, end, replacement });
    const value = Number(groups?.["number"] ?? Number.NaN);
    if (value <= largestConstant) {
      mutants.push({ start, end, replacement: String(value + 1) });
      // Another key or argument, whichever it is, is wrong in the same way.
      const isIndex = /(?:KEYS|ARGV)\[$/.test(source.slice(0, start));
      if (value > 0 && !isIndex) mutants.push({ start, end, replacement: String(value - 1) });
    }
    before = found;
  }
  for (const { 0: found, index: start } of source.matchAll(statement)) {
    if (!found.trimStart().startsWith("local "))
      mutants.push({ start, end: start + found.length, replacement: "" });
  }
  for (const { 0: found, 1: test = "", index } of source.matchAll(condition)) {
    if (comparison.test(test)) continue;
    const start = index + found.indexOf(test);
    mutants.push({ start, end: start + test.length, replacement: `not (${test})` });
  }
  return mutants
    .filter(({ start }) => !comments.some(([from, to]) => from <= start && start < to))
    .toSorted((a, b) => a.start - b.start);
}
