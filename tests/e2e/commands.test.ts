import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { keys } from "../../src/queue/redis/keys.ts";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { noonZone } from "../fakes/noon.ts";
import { startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { modelEnvironment, slackEnvironment } from "./environment.ts";
import { useSetting } from "./hooks.ts";
import { processesWith, running, uniqueSleep } from "./processes.ts";
import { examine } from "./program.ts";

const here = useSetting();

/** The demo model answers at once, where nobody looks at how it appears. */
const hurry = () => writeFile(join(here.place.folder, "heddle.yaml"), "demo: { stepDelayMs: 0 }");
const heddle = (args: string[], env: Record<string, string> = {}) =>
  here.place.start(args, { REDIS_URL: here.redis.path, ...env });

describe("heddle run", () => {
  test("does a task through queue, worker and sandbox, and exits with 0", async () => {
    const program = heddle(["run", "Write", "a", "calculator", "in", "Python"]);
    expect(await program.ended).toBe(0);
    expect(program.output()).toMatch(/▸ write_file calculator\.py[\s\S]*(6 \* 7 = 42|no python3)/);
  });

  test("prints the events as JSON lines", async () => {
    await hurry();
    const program = heddle(["run", "--json", "Write a calculator"]);
    await program.ended;
    const events = program
      .output()
      .split("\n")
      .filter((line) => line.startsWith('{"type"'))
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(new Set(events)).toEqual(
      new Set([
        "turn-start",
        "step-start",
        "text-delta",
        "thinking-delta",
        "assistant",
        "tool-start",
        "tool-output",
        "tool-end",
        "turn-end",
      ]),
    );
    expect(events.at(-1)).toBe("turn-end");
  });

  test("is stopped by Ctrl-C with nothing left, and exits with 130", async () => {
    const model = await startFakeAnthropic();
    const { command, seconds } = uniqueSleep();
    model.push({ content: [{ type: "tool_use", name: "bash", input: { command } }] });
    const program = heddle(["run", "sleep"], {
      ...modelEnvironment(model),
    });
    await running(command);
    program.signal("SIGINT");
    expect(await program.ended).toBe(130);
    expect(program.output()).toContain("0 left alive");
    expect(processesWith(seconds)).toEqual([]);
    await model.close();
  });

  test("without a task says what is missing", async () => {
    const program = heddle(["run"]);
    expect(await program.ended).toBe(2);
    expect(program.output()).toContain("There is no task");
  });
});

describe("heddle start", () => {
  test.each([
    [["usage", "--help"], 0, /^ +heddle usage \[--days N\].*\n.*last days$/],
    [["usage", "--bogus"], 2, /^heddle: Unknown option '--bogus'\.\n\n +heddle usage /],
    [["doctor", "all"], 2, /^heddle: Unexpected argument 'all'\.\n\n +heddle doctor /],
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
    ["a model without its key", { env: { HEDDLE_MODEL: "openai/gpt-5" } }, /needs OPENAI_API_KEY/],
    ["a command that only every object has", { args: ["constructor"] }, /Unknown command "constructor"/],
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

  test("names the wrong token and what to do", async () => {
    const slack = await startFakeSlack();
    const program = heddle(["start"], {
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: "xapp-wrong",
      SLACK_API_URL: slack.url,
    });
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(/heddle: SLACK_APP_TOKEN .*token/);
    expect(program.output()).not.toContain("xapp-wrong");
    await slack.close();
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
    expect(await program.ended).toBe(1);
    expect(program.output()).toContain("has no model anthropic/claude-nobody");
    await model.close();
  });

  test("tells the limits in force in its log, its banner and on the console, and ends within a moment", async () => {
    const program = heddle(["start"]);
    const tier = /limits tier [123] \([^)]+\)/;
    const [banner = ""] = tier.exec(await program.line(/^ {2}sandbox /)) ?? [];
    expect(banner).not.toBe("");
    expect(await program.line(/"msg":"Sandbox: /)).toContain(banner);
    const [url = ""] = /http\S+/.exec(await program.line(/^ {2}console /)) ?? [];
    await expect.poll(async () => (await fetch(new URL("/api/system", url))).text()).toContain(banner);
    program.signal("SIGTERM");
    expect(await program.ended).toBe(0);
  });
});

describe("Other commands", () => {
  test("doctor tells each part with its state, and how to make it right", async () => {
    const program = await examine(() => heddle(["doctor"]));
    expect(await program.ended).toBe(0);
    expect(program.output()).toMatch(
      /✓ node[\s\S]*✓ settings[\s\S]*! model +demo[\s\S]*✓ redis[\s\S]*✓ sandbox.*limits tier [123][\s\S]*✓ disk[\s\S]*· slack[\s\S]*· discord[\s\S]*· mcp[\s\S]*✓ skills[\s\S]*· clock/,
    );
  });

  test("doctor tries keys and tokens for real, warns about a misremembered name, and gives it all as JSON", async () => {
    const [model, slack, discord] = await Promise.all([
      startFakeAnthropic(),
      startFakeSlack(),
      startFakeDiscord(),
    ]);
    const environment = {
      DISCORD_TOKEN: discord.token,
      DISCORD_API_URL: discord.url,
      ANTHROPIC_API_KEY: "sk-wrong-key",
      ANTHROPIC_BASE_URL: model.url,
      ...slackEnvironment(slack),
      DISCORD_BOT_TOKEN: "misremembered",
    };
    const program = await examine(() => heddle(["doctor", "--json"], environment));
    expect(await program.ended).toBe(1);
    const { ok, findings } = JSON.parse(program.output()) as {
      ok: boolean;
      findings: { what: string; level: string; text: string }[];
    };
    expect(ok).toBe(false);
    const of = (what: string) => findings.filter((finding) => finding.what === what);
    expect(of("model")).toMatchObject([{ level: "error", text: expect.stringContaining("was refused") }]);
    expect(of("settings")[1]).toMatchObject({
      level: "warning",
      text: expect.stringMatching(/^DISCORD_BOT_TOKEN/),
    });
    expect(of("slack").map(({ level }) => level)).toEqual(["ok", "ok", "note"]);
    expect(of("discord").at(-1)?.text).toMatch(/^Nobody on Discord may give work: .*access\.discord/);
    expect(of("clock")).toMatchObject([{ level: "ok" }, { level: "ok" }]);
    expect(program.output()).not.toMatch(/sk-wrong-key|misremembered/);
    await Promise.all([model.close(), slack.close(), discord.close()]);
  });

  test("doctor names programs that the skills need and the sandbox lacks", async () => {
    const program = await examine(() =>
      here.place.startWithout("git", ["doctor"], { REDIS_URL: here.redis.path }),
    );
    await program.ended;
    expect(program.output()).toMatch(
      /! sandbox +The sandbox has no git, which is needed by the skills .*changelog/,
    );
  });

  test("doctor shows settings that cannot be used as its one finding", async () => {
    await writeFile(join(here.place.folder, "heddle.yaml"), "agnet: {}");
    const program = await examine(() => heddle(["doctor"]));
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(/^✗ settings .*\n +agnet: unknown key/);
  });

  test("doctor exits with 1 and names the fix when bubblewrap is missing, and a task is told about it", async () => {
    const program = await examine(() =>
      here.place.startWithout("bwrap", ["doctor"], { REDIS_URL: here.redis.path }),
    );
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(/✗ sandbox.*bubblewrap.*apt-get install bubblewrap/);
    const model = await startFakeAnthropic({
      replies: (body) => {
        expect(body.tools?.map(({ name }) => name)).not.toContain("bash");
        return { content: [{ type: "text", text: "I have no shell here." }] };
      },
    });
    const run = here.place.startWithout("bwrap", ["run", "list my files"], {
      REDIS_URL: here.redis.path,
      ...modelEnvironment(model),
    });
    expect(await run.ended).toBe(0);
    expect(JSON.stringify(model.bodies[0]?.system)).toContain("apt-get install bubblewrap");
    await model.close();
  });

  test("threads lists and shows, stop says when there is nothing to stop", async () => {
    await hurry();
    await heddle(["run", "Write a calculator\u001b]0;and a title\u0007"]).ended;
    const list = heddle(["threads", "list"]);
    expect(await list.ended).toBe(0);
    const [, thread = ""] =
      /answered +(local:\S+) +\S+: Write a calculator\]0;and a title$/m.exec(list.output()) ?? [];
    const show = heddle(["threads", "show", thread]);
    expect(await show.ended).toBe(0);
    expect(show.output()).toContain("▸ `write_file` `calculator.py`");
    // Nothing that a stranger writes steers the operator's terminal.
    expect(show.output()).toContain("Write a calculator]0;and a title\n");
    const stop = heddle(["stop", thread]);
    expect(await stop.ended).toBe(1);
    expect(stop.output()).toContain("Nothing is running");
  });

  test("threads shows the last part of a long thread, and the older one when asked for it", async () => {
    const thread = "slack:T1:C1:1.2";
    const author = { id: "U1", name: "Ada" };
    const records = Array.from({ length: 1_500 }, (_, n) => [
      JSON.stringify({ type: "turn-start", turn: `t${n}`, at: n }),
      JSON.stringify({
        type: "user",
        message: { role: "user", id: `m${n}`, author, text: `task ${n}.`, at: n },
      }),
    ]);
    await here.redis.client().rpush(keys.log(thread), ...records.flat());
    const show = heddle(["threads", "show", thread]);
    expect(await show.ended).toBe(0);
    expect(show.output()).toContain("task 1499.");
    expect(show.output()).not.toContain("task 100.");
    const [, before = ""] =
      /\(older: heddle threads show slack:T1:C1:1.2 --before (\d+)\)/.exec(show.output()) ?? [];
    // Counted from 1; each turn has two.
    const first = (Number(before) - 1) / 2;
    expect(show.output()).toContain(`task ${first}.`);
    const older = heddle(["threads", "show", thread, "--before", before]);
    expect(await older.ended).toBe(0);
    expect(older.output()).toContain(`task ${first - 1}.`);
    expect(older.output()).not.toContain(`task ${first}.`);
    const wrong = heddle(["threads", "show", thread, "--before", "yesterday"]);
    expect(await wrong.ended).toBe(2);
  });

  test("usage tells who has used what, and a task beyond the day's budget is not begun", async () => {
    const timeZone = noonZone();
    const settings = (budgets: object) =>
      writeFile(
        join(here.place.folder, "heddle.yaml"),
        JSON.stringify({ demo: { stepDelayMs: 0 }, budgets: { timeZone, ...budgets } }),
      );
    await settings({});
    expect(await heddle(["run", "Write a calculator"]).ended).toBe(0);
    await settings({ user: { tokens: 2_000 } });
    const run = heddle(["run", "Write a calculator"]);
    expect(await run.ended).toBe(3);
    expect(run.output()).toContain("Paused: the budget of 2,000 tokens a day for one person is used up");
    const usage = heddle(["usage", "--by", "user", "--days", "1"]);
    expect(await usage.ended).toBe(0);
    expect(usage.output()).toMatch(/^user +turns +calls[^\n]*cost\nlocal:console:console +1 +4 /m);
    const byModel = heddle(["usage", "--by", "model", "--days", "1"]);
    expect(await byModel.ended).toBe(0);
    expect(byModel.output()).toMatch(/^model +turns [^\n]* liked +disliked\n[^\n]* 0 +0$/m);
    const wrong = heddle(["usage", "--by", "weather"]);
    expect(await wrong.ended).toBe(2);
  });

  test("manifest prints what Slack takes", async () => {
    const program = heddle(["manifest", "slack"]);
    expect(await program.ended).toBe(0);
    expect(program.output()).toContain("socket_mode_enabled: true");
  });
});
