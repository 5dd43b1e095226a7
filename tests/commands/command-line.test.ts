import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command, CommanderError } from "commander";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { asTyped } from "../../src/app/process/package-info.ts";
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
    [["strt", "--help"], "Unknown command 'strt' (Did you mean start?)"],
    [["threads", "lst", "-h"], "Unknown command 'lst' (Did you mean list?)"],
    [["help", "strt"], "Unknown command 'strt' (Did you mean start?)"],
    [["weather", "--help"], "Unknown command 'weather'."],
    [["threads", "list", "--jsn"], "Unknown option '--jsn' (Did you mean --json?)"],
    [["stop"], "Missing required argument 'thread'."],
    [["stop", ""], "Argument 'thread' is empty."],
    [["threads", "show", " "], "Argument 'thread' is empty."],
    [["tokens", "create", ""], "Argument 'name' is empty."],
    [["run", "--thread", "", "go on"], "Option '--thread <thread>' is empty."],
    [["completion", "tcsh"], "Shell tcsh: expected one of bash, zsh, fish."],
    [["health", "now"], "Too many arguments for 'health'. Expected 0 arguments but got 1: now."],
  ])("names what was probably meant: %j", async (args, sentence) => {
    const { err, runs, code } = await parse(...args);
    expect(err).toMatch(new RegExp(`^heddle: ${RegExp.escape(sentence)}\n\nheddle --help lists`));
    expect([runs, code]).toEqual([0, 1]);
  });

  test.each([
    [["usage", "--days", "0"], "--days 0: expected a whole number from 1 to 3650."],
    [["usage", "--days", ""], '--days "": expected a whole number from 1 to 3650.'],
    [["usage", "--by", "weather"], "--by weather: expected one of day, user, channel, trigger, model."],
    [["threads", "show", "t", "--before", "soon"], "--before soon: expected a whole number from 1 on."],
  ])("says what a value should have been: %j", async (args, message) => {
    expect((await parse(...args)).error).toMatchObject({ name: "UsageError", message });
  });

  test.each([
    ["npm_lifecycle_event", "heddle", "npm run heddle --"],
    ["npm_lifecycle_script", "'heddle'", "npx heddle"],
    ["npm_lifecycle_script", "node scripts/test.js", "heddle"],
  ])("names each command as somebody has called the program: %s=%s", (variable, value, called) => {
    vi.stubEnv("npm_lifecycle_event", undefined);
    vi.stubEnv("npm_lifecycle_script", undefined);
    vi.stubEnv(variable, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    // `complete` is for the scripts of `completion`.
    const names = commandLine().program.commands.map((each) => each.name());
    for (const command of names.filter((name) => name !== "complete"))
      expect(asTyped(`Try \`heddle ${command} x\`.`)).toBe(`Try \`${called} ${command} x\`.`);
    for (const whole of ["heddle: ✓ heddle in Acme", "Start Heddle: npx heddle start"])
      expect(asTyped(whole)).toBe(whole);
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

  test("gives JSON by every command, but those whose output is JSON lines or a script", () => {
    const without = listCommands(commandLine().program).filter(
      (command) => !command.options.some(({ long }) => long === "--json"),
    );
    expect(without.map((command) => `${command.parent?.name()} ${command.name()}`)).toEqual([
      // Its log is JSON lines.
      "heddle start",
      "threads export",
      "audit export",
      "heddle completion",
      "heddle complete",
    ]);
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
      ["list", "show", "export", "delete", "help"],
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

/** The program by its name, in a folder that goes on PATH. */
function installHeddle(): { env: NodeJS.ProcessEnv; cwd: string } {
  const cwd = mkdtempSync(join(tmpdir(), "heddle-completion-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const main = join(import.meta.dirname, "../../src/main.ts");
  writeFileSync(join(cwd, "heddle"), `#!/bin/sh\nexec ${process.execPath} ${main} "$@"\n`, { mode: 0o755 });
  return { cwd, env: { PATH: `${cwd}:${process.env["PATH"]}`, HOME: cwd } };
}

test("Bash completes with the script that is printed, threads with their colons, and is quiet without Redis", () => {
  const script = `source <(heddle completion bash)
ask() { COMP_LINE=$1 COMP_POINT=\${#1} COMP_CWORD=1; COMPREPLY=(); _heddle; echo "$1: \${COMPREPLY[*]}"; }
ask "heddle sto"
REDIS_URL=redis://127.0.0.1:1 ask "heddle stop "
heddle() { echo "slack:T1:C1:1.2"; }
ask "heddle stop slack:T"`;
  const bash = spawnSync("bash", ["--norc", "-c", script], { ...installHeddle(), encoding: "utf8" });
  expect(bash).toMatchObject({
    stdout: "heddle sto: stop\nheddle stop : \nheddle stop slack:T: T1:C1:1.2\n",
    stderr: "",
  });
});

const hasShell = (name: string) => spawnSync(name, ["-c", "true"]).status === 0;

test("zsh completes with the script that is printed, threads with their colons", (context) => {
  context.skip(!hasShell("zsh"), "zsh is not installed");
  // What _describe and _files would put on the screen; both exist only while the line editor completes.
  const script = `autoload -Uz compinit && compinit -D -u
source <(heddle completion zsh)
_describe() { print -rl -- "\${(@P)2}"; }
_files() { print -r -- "files"; }
ask() { words=("$@"); CURRENT=$#; _heddle; }
echo "registered: $_comps[heddle]"
ask heddle sto
ask heddle completion z
REDIS_URL=redis://127.0.0.1:1 ask heddle stop ""
heddle() { print -r -- 'slack\\:T1\\:C1\\:1.2:A title'; }
ask heddle stop ""`;
  const zsh = spawnSync("zsh", ["-f", "-c", script], { ...installHeddle(), encoding: "utf8" });
  expect(zsh).toMatchObject({
    stdout: expect.stringMatching(
      /^registered: _heddle\nstop:.+\nzsh:.*\nfiles\nslack\\:T1\\:C1\\:1\.2:A title\n$/,
    ),
    stderr: "",
  });
});

test("fish completes with the script that is printed, threads with their colons", (context) => {
  context.skip(!hasShell("fish"), "fish is not installed");
  // `complete -C` answers what Tab would: https://fishshell.com/docs/current/cmds/complete.html
  const script = `heddle completion fish | source
complete -C "heddle sto"
complete -C "heddle completion z"
set -x REDIS_URL redis://127.0.0.1:1
complete -C "heddle stop no-such-"
function heddle; printf '%s\\t%s\\n' slack:T1:C1:1.2 "A title"; end
complete -C "heddle stop slack:T"`;
  const fish = spawnSync("fish", ["--no-config", "-c", script], { ...installHeddle(), encoding: "utf8" });
  expect(fish).toMatchObject({
    stdout: expect.stringMatching(/^stop\t.+\nzsh.*\nslack:T1:C1:1\.2\tA title\n$/),
    stderr: "",
  });
});
