import type { Command, Option } from "commander";
import { readThreadKeys } from "./thread-keys.ts";

/** What may stand at the cursor. */
export interface Candidate {
  value: string;
  about: string;
}

/**
 * What may come next on the command line, by the commands of the program.
 *
 * @param words those behind the program's name; the last one is being written
 * @param readThreads the threads that there are, or none when that takes long
 */
export async function findCandidates(
  program: Command,
  words: readonly string[],
  readThreads: () => Promise<string[]> = readThreadKeys,
): Promise<Candidate[]> {
  const current = words.at(-1) ?? "";
  const { command, operands, pending } = walk(program, words.slice(0, -1));
  const list = async (): Promise<Candidate[]> => {
    if (pending) return choicesOf(pending, nameOf(pending), readThreads);
    if (current.startsWith("-")) return listOptions(command);
    const below = command.createHelp().visibleCommands(command);
    // A command that has others below it takes no words of its own.
    if (below.length > 0) return below.map((one) => ({ value: one.name(), about: one.description() }));
    const argument = command.registeredArguments.at(operands) ?? command.registeredArguments.at(-1);
    if (!argument || (operands >= command.registeredArguments.length && !argument.variadic)) return [];
    return choicesOf(argument, argument.name(), readThreads);
  };
  return (await list()).filter(({ value }) => value.startsWith(current));
}

/** The command that the words name, how many words of its own it has, and the option whose value comes next. */
function walk(program: Command, words: readonly string[]) {
  let command = program;
  let operands = 0;
  let pending: Option | undefined;
  for (const word of words) {
    if (pending) {
      pending = undefined;
      continue;
    }
    if (word.startsWith("-")) {
      const option = command.options.find(({ long, short }) => word === long || word === short);
      pending = option?.required || option?.optional ? option : undefined;
      continue;
    }
    const below = command.commands.find((one) => one.name() === word);
    if (below) command = below;
    else operands += 1;
  }
  return { command, operands, pending };
}

function nameOf(option: Option): string {
  return option.attributeName();
}

function listOptions(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description }) => (long ? [{ value: long, about: description }] : []));
}

/** Empty where a file or any text is expected: then the shell completes files. */
async function choicesOf(
  place: { argChoices?: readonly string[] | undefined },
  name: string,
  readThreads: () => Promise<string[]>,
): Promise<Candidate[]> {
  if (place.argChoices) return place.argChoices.map((value) => ({ value, about: "" }));
  if (name !== "thread") return [];
  return (await readThreads()).map((value) => ({ value, about: "" }));
}
