import { type Command, Option } from "commander";
import { UsageError } from "../usage-error.ts";

/** What a command needs of the process that runs it. */
export interface Needs {
  /** It asks Redis, and ends with a sentence when that is silent; the others wait for it or say so themselves. */
  redis?: true;
  /** A supervisor must not start it again when its configuration is refused. */
  serves?: true;
}

/** Runs a command, whose result is the exit code. */
export type Runner = (command: () => Promise<number>, needs?: Needs) => Promise<void>;

export const jsonOption = ["--json", "print JSON for programs"] as const;

/** Shows the calls that people make most, below a command's help. */
export function addExamples(
  command: Command,
  examples: readonly (readonly [call: string, about: string])[],
): void {
  const width = Math.max(...examples.map(([call]) => call.length));
  const lines = examples.map(([call, about]) => `  ${call.padEnd(width)}  ${about}`.trimEnd());
  command.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}

/** An option that takes one of these words. */
export function oneOf(flags: string, about: string, names: readonly string[]): Option {
  const option = new Option(flags, about).choices(names);
  return option.argParser((value: string) => {
    if (names.includes(value)) return value;
    throw new UsageError(`${option.long ?? flags} ${nameValue(value)}: expected one of ${names.join(", ")}.`);
  });
}

/** An option that takes a whole number in this range. */
export function wholeNumber(flags: string, about: string, least: number, most = Infinity): Option {
  const option = new Option(flags, about);
  return option.argParser((value: string) => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= least && number <= most) return number;
    const range = most === Infinity ? `from ${least} on` : `from ${least} to ${most}`;
    throw new UsageError(`${option.long ?? flags} ${nameValue(value)}: expected a whole number ${range}.`);
  });
}

/** An option that takes a sum of money, or another number that is not negative. */
export function amount(flags: string, about: string): Option {
  const option = new Option(flags, about);
  return option.argParser((value: string) => {
    if (/^\d+(\.\d+)?$/.test(value)) return Number(value);
    throw new UsageError(`${option.long ?? flags} ${nameValue(value)}: expected a number, for example 0.5.`);
  });
}

/** An empty one is to be seen. */
function nameValue(value: string): string {
  return value.trim() === "" ? `"${value}"` : value;
}
