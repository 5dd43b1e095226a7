import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command, CommanderError } from "commander";
import { describe, expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { findCandidates } from "../../src/commands/command-line/candidates.ts";
import { createProgram } from "../../src/commands/command-line/program.ts";

/** The program with what it would print; commands are parsed and not run. */
function commandLine() {
  const said = { out: "", err: "", runs: 0 };
  const program = createProgram(async () => void (said.runs += 1));
  const capture = (command: Command) => {
    command.configureOutput({
      ...{ writeOut: (text) => void (said.out += text), writeErr: (text) => void (said.err += text) },
    });
    command.commands.forEach(capture);
  };
  capture(program);
  const parse = async (...args: string[]) => {
    try {
      await program.parseAsync(args, { from: "user" });
      return { ...said, code: 0, error: undefined };
    } catch (error) {
      return { ...said, code: (error as CommanderError).exitCode, error };
    }
  };
  return { program, parse };
}

const parse = (...args: string[]) => commandLine().parse(...args);

/** All commands that have none below them. */
function listCommands(command: Command): Command[] {
  return command.commands.length > 0 ? command.commands.flatMap(listCommands) : [command];
}

describe("The command line", () => {
  test("prints its version", async () => {
    expect(await parse("--version")).toMatchObject({ out: `${manifest.version}\n`, code: 0 });
  });

  test.each([
    [["strt"], "Unknown command 'strt' (Did you mean start?)"],
    [["threads", "lst"], "Unknown command 'lst' (Did you mean list?)"],
    [["threads", "list", "--jsn"], "Unknown option '--jsn' (Did you mean --json?)"],
    [["stop"], "Missing required argument 'thread'."],
    [["health", "now"], "Too many arguments for 'health'. Expected 0 arguments but got 1: now."],
  ])("names what was probably meant: %j", async (args, sentence) => {
    const { err, runs, code } = await parse(...args);
    expect(err).toMatch(new RegExp(`^heddle: ${RegExp.escape(sentence)}\n\nheddle --help lists`));
    expect([runs, code]).toEqual([0, 1]);
  });

  test.each([
    [["usage", "--days", "0"], "--days 0: expected a whole number from 1 to 3650."],
    [["usage", "--by", "weather"], "--by weather: expected one of day, user, channel, model."],
    [["threads", "show", "t", "--before", "soon"], "--before soon: expected a whole number from 1 on."],
  ])("says what a value should have been: %j", async (args, message) => {
    expect((await parse(...args)).error).toMatchObject({ name: "UsageError", message });
  });

  test("has help for each command, whose examples are commands that there are", async () => {
    for (const command of commandLine().program.commands) {
      const { out, code } = await parse("help", command.name());
      expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(command.description()) });
      const [, examples = ""] = out.split("\nExamples:\n");
      for (const [, call = ""] of examples.matchAll(/^ {2}heddle (.*?)(?: {2}.*| [<>].*)?$/gm)) {
        const words = [...call.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");
        expect({ call, ...(await parse(...words)) }).toMatchObject({ call, runs: 1, code: 0 });
      }
    }
  });

  test("gives JSON wherever something is listed or checked", () => {
    const asks = listCommands(commandLine().program).filter((command) =>
      ["list", "show", "verify", "usage", "doctor", "health", "run", "stop"].includes(command.name()),
    );
    // What is shown of the audit log is exported as JSON lines.
    const without = asks.filter((command) => !command.options.some(({ long }) => long === "--json"));
    expect(without.map((command) => `${command.parent?.name()} ${command.name()}`)).toEqual(["audit show"]);
  });
});

describe("Completion", () => {
  const threads = ["slack:T1:C1:1.2", "slack:T1:C2:3.4", "discord:1:2:3"];
  const complete = async (...words: string[]) =>
    (await findCandidates(commandLine().program, words, async () => threads)).map(({ value }) => value);

  test.each([
    [["st"], ["start", "stop"]],
    [
      ["threads", ""],
      ["list", "show", "delete", "help"],
    ],
    [["start", "--r"], ["--role"]],
    [
      ["start", "--role", ""],
      ["all", "gateway", "worker"],
    ],
    [["stop", ""], threads],
    [["threads", "show", "--before", "3", "slack:T1:C1"], ["slack:T1:C1:1.2"]],
    [["run", "--thread", "d"], ["discord:1:2:3"]],
    [["schedules", "cancel", "discord:1:2:3", ""], []],
    [["run", "--file", ""], []],
    [["completion", "z"], ["zsh"]],
  ])("of %j", async (words, expected) => {
    expect(await complete(...words)).toEqual(expected);
  });

  test("of a first word offers every command that help lists, and no hidden one", async () => {
    const { program } = commandLine();
    const names = program.createHelp().visibleCommands(program);
    expect(await complete("")).toEqual(names.map((command) => command.name()));
    expect(names.map((command) => command.name())).not.toContain("complete");
  });
});

test("Bash completes with the script that is printed, threads with their colons, and is quiet without Redis", () => {
  const folder = mkdtempSync(join(tmpdir(), "heddle-completion-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const main = join(import.meta.dirname, "../../src/main.ts");
  writeFileSync(join(folder, "heddle"), `#!/bin/sh\nexec ${process.execPath} ${main} "$@"\n`, {
    mode: 0o755,
  });
  const script = `source <(heddle completion bash)
ask() { COMP_LINE=$1 COMP_POINT=\${#1} COMP_CWORD=1; COMPREPLY=(); _heddle; echo "$1: \${COMPREPLY[*]}"; }
ask "heddle sto"
REDIS_URL=redis://127.0.0.1:1 ask "heddle stop "
heddle() { echo "slack:T1:C1:1.2"; }
ask "heddle stop slack:T"`;
  const bash = spawnSync("bash", ["--norc", "-c", script], {
    ...{ cwd: folder, encoding: "utf8", env: { PATH: `${folder}:${process.env["PATH"]}` } },
  });
  expect(bash).toMatchObject({
    stdout: "heddle sto: stop\nheddle stop : \nheddle stop slack:T: T1:C1:1.2\n",
    stderr: "",
  });
});
