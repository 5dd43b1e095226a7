import { Argument, type Command } from "commander";
import { roles } from "../roles.ts";
import type { RunOptions } from "../run.ts";
import { type SetupStep, setupSteps } from "../setup/steps.ts";
import { addExamples, jsonOption, oneOf, type Runner } from "./runner.ts";

/** The values of an option that may be repeated. */
function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** Adds what starts Heddle, gives it a task, and sets it up. */
export function addServingCommands(program: Command, run: Runner): void {
  program.commandsGroup("Serve and set up:");
  const start = program
    .command("start")
    .description("connect to chat, serve the console, run turns")
    .addOption(oneOf("--role <role>", "which part of the work this process does", roles).default("all"))
    .action(({ role }: { role: (typeof roles)[number] }) =>
      run(async () => (await import("../start.ts")).startRole(role), { serves: true }),
    );
  addExamples(start, [
    ["heddle start", "everything in one process"],
    ["heddle start --role worker", "only turns; a gateway elsewhere hears the platforms"],
  ]);

  const setup = program
    .command("setup")
    .description("choose a model and connect chat platforms, step by step")
    .addArgument(new Argument("[step...]", "only these steps; without one all of them").choices(setupSteps))
    .option("--answers <file>", "take the answers from a YAML file instead of asking (docs/setup.md)")
    .option("--json", "with --answers: print how each step has ended as JSON")
    .action((steps: SetupStep[], options: { answers?: string; json?: true }) =>
      run(async () => (await import("../setup.ts")).runSetup(steps, options)),
    );
  addExamples(setup, [
    ["heddle setup", "all steps, each of which can be left out"],
    ["heddle setup slack", "only Slack"],
    ["heddle setup --answers answers.yaml", "without a terminal"],
  ]);

  const task = program
    .command("run")
    .description("do one task in this terminal; Ctrl-C stops it")
    .argument("[task...]", "what to do; what is piped in goes along, or is the task itself")
    .option("--thread <thread>", "go on with an earlier thread, its conversation and its files")
    .option("--model <model>", "one of modelChoices in heddle.yaml")
    .option("--prompt <server/name>", "begin with this prompt of an MCP server")
    .option("--argument <name=value>", "an argument of the prompt; may be repeated", collect)
    .option("--file <path>", "a file that goes along with the task; may be repeated", collect)
    .option("--out <path>", "put the workspace there in the end: an empty folder, or a file *.tar")
    .option("--json", "print the events as JSON lines")
    .action((words: string[], options: RunOptions) =>
      run(async () => (await import("../run.ts")).runTask(words, options)),
    );
  addExamples(task, [
    ['heddle run "Write a calculator in Python and run it"', ""],
    ['heddle run "Which error comes first?" < build.log', "with what is piped in"],
    ['heddle run "Fill in the form" --file form.docx --out filled', "files in, files out"],
    ['heddle run --thread local:console:main:0123456789abcdef "And in Rust?"', "go on with a thread"],
  ]);

  const doctor = program
    .command("doctor")
    .description("check everything that Heddle needs and suggest fixes")
    .option(...jsonOption)
    .option("--live", "also send a request to each model and a message to each named channel")
    .option("--post <channel>", "where --live posts: slack:<id> or discord:<id>; may be repeated", collect)
    .action((options: { json?: true; live?: true; post?: string[] }) =>
      run(async () => (await import("../doctor.ts")).runDoctor(options)),
    );
  addExamples(doctor, [
    ["heddle doctor", "exits with 1 on any problem"],
    ["heddle doctor --live --post slack:C012345", "posts a test message there"],
  ]);

  program
    .command("health")
    .description("exit 0 if this Heddle is running")
    .option(...jsonOption)
    .action((options: { json?: true }) =>
      run(async () => (await import("../health.ts")).checkHealth(options), { redis: true }),
    );

  const manifest = program
    .command("manifest")
    .description("print what a platform's admin pastes or opens to create the app");
  manifest
    .command("slack")
    .description("print the app manifest, for Socket Mode or for requests to a URL")
    .option("--url <url>", "the https address at which Slack reaches Heddle")
    .option("--json", "print it as JSON, which Slack takes too")
    .action((options: { url?: string; json?: true }) =>
      run(async () => (await import("../manifest.ts")).printManifest("slack", options)),
    );
  manifest
    .command("discord")
    .description("print the invite link and the settings to switch on")
    .option(...jsonOption)
    .action((options: { json?: true }) =>
      run(async () => (await import("../manifest.ts")).printManifest("discord", options)),
    );
}
