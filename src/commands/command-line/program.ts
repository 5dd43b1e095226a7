import { type AddHelpTextContext, Command } from "commander";
import { asTyped, packageInfo } from "../../app/process/package-info.ts";
import { addCompletion } from "./completion.ts";
import { addOperatorCommands } from "./operator-commands.ts";
import type { Runner } from "./runner.ts";
import { addServingCommands } from "./serving-commands.ts";

/**
 * The command line: every command with its arguments, options and examples. Help, "did you mean" and shell completion
 * are made from this alone. A command's own code is loaded when it is run.
 */
export function createProgram(run: Runner): Command {
  const program = new Command("heddle")
    .description("An agent for your team's chat.")
    .version(packageInfo.version, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help, or that of a command")
    .helpCommand("help [command]", "print the help of a command")
    .showHelpAfterError(
      asTyped("\nheddle --help lists the commands, heddle <command> --help has options and examples."),
    )
    // Errors are thrown, so that `main` sets the exit code.
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`heddle: ${toSentence(text)}\n`) })
    .addHelpText("after", "\nIn a clone, write npm run heddle -- instead of heddle.")
    .hook("preAction", (_program, command) => refuseEmpty(command));
  addServingCommands(program, run);
  addOperatorCommands(program, run);
  addCompletion(program, run);
  program.on("beforeAllHelp", refuseUnknown);
  return program;
}

/** The help of a command that is not there: commander would print that of the one above it. */
function refuseUnknown({ command }: AddHelpTextContext): void {
  const [first, second] = command.args;
  const name = first === "help" ? second : first;
  if (command.commands.length === 0 || name === undefined || name.startsWith("-")) return;
  // Alone it is an error, which says what may have been meant.
  command.parse([name], { from: "user" });
}

/** A value that is empty, as where a variable of a shell is not set, names nothing; a text of several words may be. */
function refuseEmpty(command: Command): void {
  for (const [index, argument] of command.registeredArguments.entries())
    if (!argument.variadic && command.args[index]?.trim() === "")
      command.error(`error: argument '${argument.name()}' is empty`);
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    if (typeof value === "string" && value.trim() === "")
      command.error(`error: option '${option.flags}' is empty`);
  }
}

/** `error: unknown command 'stat'\n(Did you mean stop?)` as one sentence. */
function toSentence(text: string): string {
  const bare = text
    .trim()
    .replace(/^error: /, "")
    .replace(/\n\(/, " (")
    .replace(
      /^command-argument value '(.*)' is invalid for argument '(.*)'\. Allowed choices are /,
      "$2 $1: expected one of ",
    )
    .replace(/\.$/, "");
  return `${bare.charAt(0).toUpperCase()}${bare.slice(1)}${bare.endsWith(")") ? "" : "."}`;
}
