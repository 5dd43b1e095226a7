// How a script reads its options, prints and ends. Every skill has its own copy of this file, because each stands alone.
import { basename } from "node:path";

type Kind = "flag" | "text" | "texts" | "integer" | "number";

type Value<K extends Kind> = K extends "flag"
  ? true
  : K extends "text"
    ? string
    : K extends "texts"
      ? string[]
      : number;

const program = basename(process.argv[1] ?? "");

// Who reads the output, like head, may have seen enough.
process.stdout.on("error", () => process.exit(1));

export function print(text: string): void {
  process.stdout.write(text);
}

/** Ends with 2: the call is wrong. */
export function refuse(problem: string): never {
  console.error(`${program}: ${problem}; see ${program} --help`);
  process.exit(2);
}

/** Ends with 1: the call is right and cannot be fulfilled. */
export function fail(problem: string): never {
  console.error(`${program}: ${problem}`);
  process.exit(1);
}

/**
 * Takes `--name value` and `--name=value` from anywhere among the arguments; a name may be shortened as long as it
 * is clear. What follows `--` is no option.
 */
export function readOptions<const Kinds extends Record<string, Kind>>(
  args: readonly string[],
  kinds: Kinds,
): { options: { [Name in keyof Kinds]?: Value<Kinds[Name]> }; rest: string[] } {
  const options: Record<string, true | string | number | string[]> = {};
  const rest: string[] = [];
  const waiting = [...args];
  for (let arg = waiting.shift(); arg !== undefined; arg = waiting.shift()) {
    if (arg === "--") {
      rest.push(...waiting);
      break;
    }
    const [, typed, given] = /^--?([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
    if (typed === undefined) {
      rest.push(arg);
      continue;
    }
    const name = findName(typed, Object.keys(kinds));
    const kind = kinds[name];
    if (kind === "flag") {
      if (given !== undefined) refuse(`option ${typed} does not take an argument`);
      options[name] = true;
      continue;
    }
    const text = given ?? waiting.shift();
    if (text === undefined || given === "") refuse(`option ${typed} requires an argument`);
    if (kind === "texts") {
      const earlier = options[name];
      options[name] = [...(Array.isArray(earlier) ? earlier : []), text];
    } else {
      options[name] = kind === "text" ? text : readNumber(typed, text, kind === "integer");
    }
  }
  // Each value has been made by the kind of its name.
  return { options: options as { [Name in keyof Kinds]?: Value<Kinds[Name]> }, rest };
}

function findName(typed: string, names: readonly string[]): string {
  if (names.includes(typed)) return typed;
  const [first, ...others] = names.filter((name) => name.startsWith(typed)).toSorted();
  if (first === undefined) refuse(`unknown option: ${typed}`);
  if (others.length > 0) refuse(`option ${typed} is ambiguous (${[first, ...others].join(", ")})`);
  return first;
}

function readNumber(name: string, text: string, whole: boolean): number {
  const form = whole ? /^[-+]?\d+$/ : /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;
  if (!form.test(text))
    refuse(`value "${text}" invalid for option ${name} (${whole ? "" : "real "}number expected)`);
  return Number(text);
}
