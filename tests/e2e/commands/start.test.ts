import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, test } from "vitest";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import { startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import { modelEnvironment } from "../environment.ts";
import { useSetting } from "../hooks.ts";

const here = useSetting();
const root = resolve(import.meta.dirname, "../../..");

const heddle = (args: string[], env: Record<string, string> = {}) =>
  here.place.start(args, { REDIS_URL: here.redis.path, ...env });

describe("heddle start", () => {
  test.each([
    [["help"], 0, /^Usage: heddle \[options\] \[command\]\n/],
    [["help", "run"], 0, /^Usage: heddle run \[options\]/],
    [["threads"], 2, /^Usage: heddle threads \[options\] \[command\]\n/],
    [["usage", "--help"], 0, /^Usage: heddle usage \[options\]\n[^]*--days <days>[^]*Examples:\n/],
    [["usage", "--dais"], 2, /^heddle: Unknown option '--dais' \(Did you mean --days\?\)\n/],
  ])("is told apart from a wrong command line: %j", async (args, code, says) => {
    const program = heddle(args);
    expect(await program.ended).toBe(code);
    expect(program.output()).toMatch(says);
  });

  test.each([
    ["an unknown key of the settings", { yaml: "agnet: {}" }, /agnet: unknown key; known here: .*agent/],
    [
      "a Redis that is not there",
      { env: { REDIS_URL: "redis://127.0.0.1:1" } },
      /ECONNREFUSED.*waiting for up to 2 s[^]*127\.0\.0\.1:1/,
    ],
    [
      "an unknown command line",
      { args: ["start", "--role", "king"] },
      /--role king: expected one of all, gateway, worker/,
    ],
    [
      "scripts of the demo model that are not there",
      { yaml: "demo: { scripts: plays }" },
      /heddle: The demo scripts in \S+\/plays cannot be read: .*ENOENT/,
    ],
    [
      "a data folder that takes no files",
      { yaml: "{}", env: { HEDDLE_DATA_DIR: "heddle.yaml" } },
      /heddle: The data folder \S+heddle\.yaml cannot be used \(.*: make it writable for the user that runs Heddle/,
    ],
    ["a model without its key", { env: { HEDDLE_MODEL: "openai/gpt-5" } }, /needs OPENAI_API_KEY/],
    [
      "a command that only every object has",
      { args: ["constructor"] },
      /heddle: Unknown command 'constructor'\./,
    ],
  ] as { 0: string; 1: { yaml?: string; env?: Record<string, string>; args?: string[] }; 2: RegExp }[] as [
    string,
    { yaml?: string; env?: Record<string, string>; args?: string[] },
    RegExp,
  ][])("refuses %s in one sentence", async (_what, { yaml, env, args }, sentence) => {
    if (yaml) await writeFile(join(here.place.folder, "heddle.yaml"), yaml);
    const program = heddle(args ?? ["start"], env);
    expect(await program.ended).toBeGreaterThan(0);
    expect(program.output()).toMatch(sentence);
    expect(program.output()).not.toMatch(/\n\s+at /);
  });

  test("names a secret of its own that holds something else, and leaves it to people", async () => {
    const file = join(here.place.folder, "data/seal.key");
    await mkdir(join(here.place.folder, "data"), { mode: 0o711 });
    await writeFile(file, "");
    const program = heddle(["start"]);
    expect(await program.ended).toBe(78);
    expect(program.output()).toContain(
      `heddle: ${file} holds no secret of Heddle's: restore it, or delete it for a new one.`,
    );
    expect(await readFile(file, "utf8")).toBe("");
  });

  test("names the wrong token and what to do", async () => {
    const slack = await startFakeSlack();
    const program = heddle(["start"], {
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: "xapp-wrong",
      SLACK_API_URL: slack.url,
    });
    // By systemd and compose it would be started again every few seconds, and ask Slack each time.
    expect(await program.ended).toBe(78);
    expect(program.output()).toMatch(/heddle: SLACK_APP_TOKEN .*token/);
    expect(program.output()).not.toContain("xapp-wrong");
    await slack.close();
  });

  test.each([
    [{ SLACK_BOT_TOKEN: "xoxb-1" }, "SLACK_APP_TOKEN is not set: "],
    [{ SLACK_APP_TOKEN: "xapp-1" }, "SLACK_BOT_TOKEN is not set: "],
    [{ SLACK_BOT_TOKEN: "xapp-1", SLACK_APP_TOKEN: "xoxb-1" }, "; are they swapped?"],
    [{ DISCORD_TOKEN: "Bot a.b.c" }, "DISCORD_TOKEN begins with “Bot ”"],
  ])("leaves it to people what cannot be a platform's tokens: %j", async (env, says) => {
    const program = heddle(["start"], env);
    expect(await program.ended).toBe(78);
    expect(program.output()).toContain(says);
  });

  test("names what a rule or a channel calls by a wrong name, all of it at once", async () => {
    const config = join(here.place.folder, "wrong.yaml");
    const wrong = { tools: ["bsh", "bash", "get_*", "github__*"], skills: ["changelog", "changelgo"] };
    const rules = [
      { tool: "Bash", command: "rm *", action: "deny" },
      { tool: "mcp_*", action: "ask" },
    ];
    await writeFile(config, JSON.stringify({ tools: { rules }, channels: { "slack:T1:C1": wrong } }));
    const program = heddle(["start"], { HEDDLE_CONFIG: config });
    expect(await program.ended).toBe(78);
    expect(program.output().match(/there is no \w+ \S+;/g)).toEqual([
      "there is no tool Bash;",
      "there is no tool mcp_*;",
      "there is no tool bsh;",
      "there is no skill changelgo;",
    ]);
  });

  test("names an unknown model", async () => {
    const model = await startFakeAnthropic();
    const program = heddle(["start"], {
      ...modelEnvironment(model),
      HEDDLE_MODEL: "anthropic/claude-nobody",
    });
    expect(await program.ended).toBe(78);
    expect(program.output()).toContain("has no model anthropic/claude-nobody");
    await model.close();
  });

  test("serves also while nothing can be written to its log", async () => {
    const { PATH } = process.env;
    const env = { PATH, HEDDLE_PORT: "0", HEDDLE_CONSOLE_OPEN: "1", REDIS_URL: here.redis.path };
    const main = join(root, "src/main.ts");
    const program = spawn("sh", ["-c", 'exec "$@" 2>/dev/full', "sh", process.execPath, main, "start"], {
      ...{ cwd: here.place.folder, env, stdio: ["ignore", "pipe", "inherit"] },
    });
    const ended = once(program, "exit");
    const lines = createInterface(program.stdout)[Symbol.asyncIterator]();
    expect((await lines.next()).value).toBe("Heddle is ready.");
    program.kill();
    expect(await ended).toEqual([0, null]);
  });

  test("tells the limits in force once, and on the console, and ends within a moment", async () => {
    const program = heddle(["start"]);
    const tier = /limits tier [123] \([^)]+\)/;
    const [limits = ""] = tier.exec(await program.line(/"msg":"Sandbox: /)) ?? [];
    expect(limits).not.toBe("");
    const [url = ""] = /http\S+/.exec(await program.line(/^ {2}console /)) ?? [];
    await expect.poll(async () => (await fetch(new URL("/api/system", url))).text()).toContain(limits);
    // Both streams end in one place, as in a journal.
    expect(program.output().split(limits)).toHaveLength(2);
    expect(program.output().split(here.redis.path)).toHaveLength(2);
    const quiet = heddle(["start"], { HEDDLE_LOG_LEVEL: "warn" });
    expect(await quiet.line(/^ {2}sandbox /)).toContain(limits);
    expect(await quiet.line(/^ {2}redis /)).toContain(here.redis.path);
    quiet.signal("SIGTERM");
    expect(await quiet.ended).toBe(0);
    program.signal("SIGTERM");
    expect(await program.ended).toBe(0);
  });
});
