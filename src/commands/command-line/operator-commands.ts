import { Argument, type Command } from "commander";
import type { AuditOptions } from "../audit.ts";
import { type ChangeableSetting, changeableSettings } from "../changeable-settings.ts";
import type { UsageOptions } from "../usage.ts";
import { addExamples, amount, jsonOption, oneOf, type Runner, wholeNumber } from "./runner.ts";
import { addPeople } from "./people-commands.ts";
import { addTokens } from "./token-commands.ts";

interface Json {
  json?: true;
}

const ofRedis = { redis: true } as const;
const serverArgument = ["<server>", "its name in mcp.json"] as const;
const threadArgument = ["<thread>", "as heddle threads list prints it"] as const;

/** Adds what looks at a Heddle that serves, and decides what people decide. */
export function addOperatorCommands(program: Command, run: Runner): void {
  program.commandsGroup("Look and decide:");
  addThreads(program, run);
  addWorkspaces(program, run);
  addAudit(program, run);
  addSchedules(program, run);
  const usage = program
    .command("usage")
    .description("show tokens, cost and turns of the last days")
    .addOption(wholeNumber("--days <days>", "how many days, today included", 1, 3_650).default(7))
    .addOption(
      oneOf("--by <what>", "what the rows are", ["day", "user", "channel", "trigger", "model"]).default(
        "day",
      ),
    )
    .option(...jsonOption)
    .action((options: UsageOptions) =>
      run(async () => (await import("../usage.ts")).printUsage(options), ofRedis),
    );
  addExamples(usage, [["heddle usage --days 30 --by user", "who used what this month"]]);
  addQuestions(program, run);
  addTokens(program, run);
  addPeople(program, run);
  addMcp(program, run);
  addConfig(program, run);
  program
    .command("stop")
    .description("stop whatever runs in a thread")
    .argument(...threadArgument)
    .option(...jsonOption)
    .action((thread: string, options: Json) =>
      run(async () => (await import("../stop.ts")).stopFromTerminal(thread, options), ofRedis),
    );
}

function addThreads(program: Command, run: Runner): void {
  const threads = program
    .command("threads")
    .description("list threads, print a transcript, export or delete a thread");
  threads
    .command("list")
    .description("list threads, the latest first")
    .addOption(wholeNumber("--limit <n>", "how many", 1, 100_000).default(100))
    .option(...jsonOption)
    .action((options: Json & { limit: number }) =>
      run(async () => (await import("../threads.ts")).printThreads(options), ofRedis),
    );
  threads
    .command("show")
    .description("print what was said and done in a thread, or an older part of a long one")
    .argument(...threadArgument)
    .addOption(wholeNumber("--before <record>", "the part before this record, counted from 1", 1))
    .option("--json", "print the records of the journal as JSON")
    .action((thread: string, options: Json & { before?: number }) =>
      run(async () => (await import("../threads.ts")).printThread(thread, options), ofRedis),
    );
  threads
    .command("export")
    .description("write all records of a thread as JSON lines")
    .argument(...threadArgument)
    .argument("[file]", "where to; standard output by default")
    .action((thread: string, file: string | undefined) =>
      run(async () => (await import("../threads.ts")).exportThread(thread, file), ofRedis),
    );
  threads
    .command("delete")
    .description("delete a thread for good, with its journal, files and notes")
    .argument(...threadArgument)
    .option(...jsonOption)
    .action((thread: string, options: Json) =>
      run(async () => (await import("../threads.ts")).deleteThreadByName(thread, options), ofRedis),
    );
  addExamples(threads, [
    ["heddle threads list --limit 500", "more than the latest 100"],
    ["heddle threads show slack:T012345:C012345:1732100000.1", ""],
  ]);
}

function addWorkspaces(program: Command, run: Runner): void {
  const workspaces = program.command("workspaces").description("list, export or archive the threads' files");
  workspaces
    .command("list")
    .description("list the workspaces of this host, with what they take on the disk")
    .option(...jsonOption)
    .action((options: Json) => run(async () => (await import("../workspaces.ts")).printWorkspaces(options)));
  workspaces
    .command("export")
    .description("write a workspace as a tar archive")
    .argument(...threadArgument)
    .argument("[file]", "the archive; by default named after the thread")
    .option(...jsonOption)
    .action((thread: string, file: string | undefined, options: Json) =>
      run(async () => (await import("../workspaces.ts")).exportWorkspace(thread, file, options)),
    );
  workspaces
    .command("clean")
    .description("archive those that are idle")
    .option(...jsonOption)
    .action((options: Json) => run(async () => (await import("../workspaces.ts")).cleanWorkspaces(options)));
}

function addAudit(program: Command, run: Runner): void {
  const audit = program
    .command("audit")
    .description("print who asked, stopped and ran what, or verify that the log is intact");
  const verbs = [
    ["verify", "verify that the log is intact, and print its head"],
    ["show", "print it for people, and verify it"],
    ["export", "write it as JSON lines, and verify it"],
  ] as const;
  for (const [verb, about] of verbs) {
    const command = audit
      .command(verb)
      .description(about)
      .option("--anchor <n:hash>", "a head that verify printed earlier: the log must still hold it")
      .addOption(wholeNumber("--unkeyed-until <n>", "entries up to this one need no key", 0));
    if (verb !== "export") command.option(...jsonOption);
    if (verb !== "verify")
      command
        .option("--thread <thread>", "only what concerns this thread")
        .option("--workspace <platform:workspace>", "only what concerns this workspace")
        .option("--channel <platform:workspace:channel>", "only what concerns this channel")
        .option("--person <name>", "only what names somebody with this in their name")
        .option("--event <event>", "only entries of this kind, for example tool-ended")
        .option("--state <state>", "only what ended or was decided so: answered, error, denied …")
        .option("--model <provider/model>", "only ends of turns in which it replied")
        .addOption(amount("--min-cost <dollars>", "only ends of turns that cost at least so much"))
        .option("--since <day>", "only from this day on, as 2026-06-01 (UTC)")
        .option("--until <day>", "only up to this day");
    if (verb === "export")
      command
        .argument("[file]", "where to; standard output by default")
        .option("--names", "with people's names in clear: for reading, as such lines prove nothing");
    command.action((...given: [string | undefined, AuditOptions] | [AuditOptions]) => {
      const [file, options] = typeof given[0] === "object" ? [undefined, given[0]] : [given[0], given[1]];
      return run(
        async () => (await import("../audit.ts")).runAuditCommand(verb, file, options ?? {}),
        ofRedis,
      );
    });
  }
  addExamples(audit, [
    ["heddle audit verify", "exits with 1 where the log is broken"],
    ["heddle audit show --person ada --state denied", "what was denied to Ada, or by her"],
    ["heddle audit export june.jsonl --since 2026-06-01 --until 2026-06-30", "a month as JSON lines"],
  ]);
}

function addSchedules(program: Command, run: Runner): void {
  const schedules = program.command("schedules").description("list or cancel scheduled tasks of all threads");
  schedules
    .command("list")
    .description("list what is planned")
    .option(...jsonOption)
    .action((options: Json) =>
      run(async () => (await import("../schedules.ts")).printSchedules(options), ofRedis),
    );
  schedules
    .command("cancel")
    .description("cancel one")
    .argument(...threadArgument)
    .argument("<id>", "as heddle schedules list prints it")
    .option(...jsonOption)
    .action((thread: string, id: string, options: Json) =>
      run(async () => (await import("../schedules.ts")).cancelOneSchedule(thread, id, options), ofRedis),
    );
}

function addQuestions(program: Command, run: Runner): void {
  const questions = program
    .command("questions")
    .description("list what agents ask people, or decide about a call");
  questions
    .command("list")
    .description("list what waits for a decision")
    .option(...jsonOption)
    .action((options: Json) => run(async () => (await import("../questions.ts")).printQuestions(options)));
  questions
    .command("approve")
    .description("let a call run")
    .argument(...threadArgument)
    .argument("<id>", "as heddle questions list prints it")
    .option("--for-thread", "and whatever else these rules ask about in the thread, from now on")
    .option(...jsonOption)
    .action((thread: string, id: string, options: Json & { forThread?: true }) =>
      run(async () => (await import("../questions.ts")).decideFromTerminal("approve", thread, id, options)),
    );
  questions
    .command("deny")
    .description("refuse a call")
    .argument(...threadArgument)
    .argument("<id>", "as heddle questions list prints it")
    .argument("[reason...]", "told to the agent")
    .option(...jsonOption)
    .action((thread: string, id: string, words: string[], options: Json) =>
      run(async () =>
        (await import("../questions.ts")).decideFromTerminal("deny", thread, id, {
          ...{ reason: words.join(" "), ...options },
        }),
      ),
    );
}

function addConfig(program: Command, run: Runner): void {
  const config = program
    .command("config")
    .description("show the settings, or take back a change made in chat");
  config
    .command("show")
    .description("print the settings in force")
    .option(...jsonOption)
    .action((options: Json) => run(async () => (await import("../config.ts")).showConfig(options), ofRedis));
  config
    .command("reset")
    .description("let the file decide again")
    .addArgument(new Argument("<setting>", "what was changed").choices(changeableSettings))
    .argument("<of>", "the person or the channel, as heddle config show prints it")
    .option(...jsonOption)
    .action((setting: ChangeableSetting, of: string, options: Json) =>
      run(async () => (await import("../config.ts")).resetSetting(setting, of, options), ofRedis),
    );
  addExamples(config, [["heddle config reset person slack:T012345:U012345", ""]]);
  program
    .command("reload")
    .description("have every process read its configuration again, and say what became of it")
    .option(...jsonOption)
    .action((options: Json) =>
      run(async () => (await import("../reload.ts")).reloadConfig(options), ofRedis),
    );
}

function addMcp(program: Command, run: Runner): void {
  const mcp = program
    .command("mcp")
    .description("accounts at MCP servers, of the installation and of people");
  mcp
    .command("list")
    .description("list the servers of mcp.json, and where somebody is signed in")
    .option(...jsonOption)
    .action((options: Json) => run(async () => (await import("../mcp.ts")).listMcpServers(options), ofRedis));
  mcp
    .command("login")
    .description("sign in; others' threads then use that account")
    .argument(...serverArgument)
    .addOption(
      wholeNumber("--port <port>", "where this machine's browser brings the answer", 1, 65_535).default(8421),
    )
    .option(...jsonOption)
    .action((server: string, options: Json & { port: number }) =>
      run(async () => (await import("../mcp.ts")).loginToMcp(server, options)),
    );
  mcp
    .command("accounts")
    .description("list the accounts that people have connected")
    .option(...jsonOption)
    .action((options: Json) =>
      run(async () => (await import("../mcp.ts")).listPersonAccounts(options), ofRedis),
    );
  mcp
    .command("disconnect")
    .description("disconnect a person's account, and revoke it there")
    .argument(...serverArgument)
    .argument("<person>", "as heddle mcp accounts prints it")
    .option(...jsonOption)
    .action((server: string, person: string, options: Json) =>
      run(async () => (await import("../mcp.ts")).disconnectPerson(server, person, options), ofRedis),
    );
  mcp
    .command("logout")
    .description("forget the account")
    .argument(...serverArgument)
    .option(...jsonOption)
    .action((server: string, options: Json) =>
      run(async () => (await import("../mcp.ts")).logoutOfMcp(server, options), ofRedis),
    );
}
