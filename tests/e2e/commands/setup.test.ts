import { spawn } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import { startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import { newFolder, type Reader, readerOf } from "../../setup/at-terminal.ts";
import { drawTerminal } from "../../setup/terminal-picture.ts";
import { textsOf } from "../scenario/picture.ts";

const root = resolve(import.meta.dirname, "../../..");
const main = join(root, "src/main.ts");
const key = "sk-ant-api03-secret-of-a-test-9876";

async function services() {
  const [model, slack] = await Promise.all([
    startFakeAnthropic({ apiKey: key, replies: () => ({ content: [{ type: "text", text: "Hello!" }] }) }),
    startFakeSlack({ botToken: "xoxb-1-bot-secret-1234", appToken: "xapp-1-A0HEDDLE-1-app-secret-5678" }),
  ]);
  onTestFinished(async () => {
    await Promise.all([model.close(), slack.close()]);
  });
  return { model, slack, env: { ANTHROPIC_BASE_URL: model.url, SLACK_API_URL: slack.url } };
}

/** `heddle setup` in a pseudo-terminal, as a person has it. */
function inTerminal(
  cwd: string,
  args: string[],
  env: Record<string, string>,
): Reader & { ended: Promise<number | null> } {
  const command = [process.execPath, main, "setup", ...args].join(" ");
  const child = spawn(
    "script",
    ["--quiet", "--return", "--echo", "never", "--command", command, "/dev/null"],
    {
      cwd,
      env: {
        PATH: process.env["PATH"],
        HOME: cwd,
        HEDDLE_PORT: "0",
        TERM: "xterm",
        SHELL: "/bin/sh",
        ...env,
      },
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = new Promise<number | null>((done) => child.on("exit", done));
  return { ...readerOf(child.stdout, (text) => child.stdin.write(text)), ended };
}

/** Chooses the first service, and of its models the one that is offered. */
async function giveModel(terminal: Reader): Promise<void> {
  await terminal.sees("Number [1]: ");
  terminal.types("1");
  await terminal.sees("Key: ");
  terminal.types(key);
  await terminal.sees("[anthropic/claude-sonnet-5-5]: ");
  terminal.types("");
}

test("at a terminal, Ctrl-C keeps what was valid, a second run goes on from there, and no secret is shown", async () => {
  const { slack, env } = await services();
  const cwd = newFolder();
  const first = inTerminal(cwd, ["model", "slack"], env);
  await giveModel(first);
  await first.sees("Number [1]: ");
  first.types("3");
  await first.sees("Bot token");
  first.types("\u0003");
  await first.sees("What was saved stays");
  expect(await first.ended).toBe(130);

  const second = inTerminal(cwd, ["model", "slack"], env);
  await second.sees("✓ anthropic/claude-sonnet-5-5 answered");
  await second.sees("Number [1]: ");
  second.types("");
  await second.sees("Number [1]: ");
  second.types("3");
  await second.sees("Bot token");
  second.types(slack.appToken);
  await second.sees("That is the app-level token");
  await second.sees("Bot token");
  second.types(slack.botToken);
  await second.sees("Slack: heddle in Fake team.");
  await second.sees("Start Heddle: npm start");
  expect(await second.ended).toBe(0);

  const file = join(cwd, ".env");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(parseEnv(readFileSync(file, "utf8"))).toEqual({
    ANTHROPIC_API_KEY: key,
    HEDDLE_MODEL: "anthropic/claude-sonnet-5-5",
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
  });
  expect(first.transcript() + second.transcript()).not.toMatch(/secret/);
});

/** `HEDDLE_DRAW=1 npm test -- tests/e2e/commands/setup.test.ts` draws it anew. */
const picture = join(root, "docs/images/setup.svg");

test("docs/setup.md shows what the set-up of a model and of Slack shows", async () => {
  const { slack, env } = await services();
  const cwd = newFolder();
  const terminal = inTerminal(cwd, ["model", "slack"], env);
  await giveModel(terminal);
  await terminal.sees("Number [1]: ");
  terminal.types("1");
  await terminal.sees("Bot token");
  terminal.types(slack.botToken);
  await terminal.sees("App-level token");
  terminal.types(slack.appToken);
  await terminal.sees("Start Heddle: npm start");
  expect(await terminal.ended).toBe(0);

  const drawn = drawTerminal(
    terminal.transcript(),
    "heddle setup in a terminal: a model and its key, then Slack's form and its two tokens",
    { [cwd]: "~/heddle", [root]: "~/heddle", "Fake team": "Acme" },
  );
  if (process.env["HEDDLE_DRAW"]) writeFileSync(picture, drawn);
  expect(textsOf(readFileSync(picture, "utf8"))).toBe(textsOf(drawn));
});

/** Without a terminal. */
async function run(cwd: string, args: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [main, "setup", ...args], {
    cwd,
    env: { PATH: process.env["PATH"], HOME: cwd, HEDDLE_PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  const code = await new Promise<number | null>((done) => child.on("close", done));
  return { code, output };
}

test("without a terminal a file answers, whose secrets may come from the environment", async () => {
  const { slack, env } = await services();
  const cwd = newFolder();
  expect(await run(cwd, [], env)).toMatchObject({
    code: 2,
    output: expect.stringContaining("--answers <file>"),
  });
  expect(await run(cwd, ["--answers", cwd], env)).toEqual({
    code: 1,
    output: `heddle: ${cwd} is a folder; put the file in its place.\n`,
  });
  const answers = [
    "model: anthropic",
    "model.key: ${KEY}",
    "slack: tokens",
    "slack.botToken: ${ONE}",
    "slack.appToken: ${OTHER}",
  ];
  writeFileSync(join(cwd, "answers.yaml"), answers.join("\n"));
  const args = ["model", "slack", "discord", "--answers", "answers.yaml"];
  const secrets = { KEY: key, ONE: slack.appToken, OTHER: slack.botToken };
  const { code, output } = await run(cwd, args, { ...env, ...secrets });
  expect(output).toMatch(/✓ anthropic[\s\S]*✓ Slack: heddle in Fake team\.[\s\S]*· Discord is not connected/);
  expect(code).toBe(0);
  expect(output).not.toMatch(/secret/);
  expect(parseEnv(readFileSync(join(cwd, ".env"), "utf8"))).toMatchObject({
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
  });
  const wrong = await run(cwd, args, { ...env, ...secrets, KEY: "sk-ant-wrong" });
  expect(wrong).toMatchObject({
    code: 1,
    output: expect.stringMatching(/✗ .*ANTHROPIC_API_KEY was refused/),
  });
  const lacking = ["model: anthropic", "slack: tokens", "slack.botToken: ${OTHER}", "discord: token"];
  writeFileSync(join(cwd, "lacking.yaml"), lacking.join("\n"));
  const folder = newFolder();
  const left = await run(
    folder,
    ["model", "slack", "discord", "--json", "--answers", join(cwd, "lacking.yaml")],
    { ...env, OTHER: slack.botToken },
  );
  expect(left.code).toBe(1);
  expect(left.output).toMatch(/✗ No key was entered\. In the answers, model: anthropic needs model\.key\./);
  expect(left.output).toMatch(
    /✗ Slack waits for the other token.* needs slack\.botToken and slack\.appToken/,
  );
  expect(left.output).toMatch(/✗ Discord is not connected\. .* discord: token needs discord\.token/);
  expect(left.output.match(/"state":"failed"/g)).toHaveLength(3);
  writeFileSync(join(cwd, "swapped.yaml"), "slack: tokens\nslack.botToken: xoxp-1-secret\n");
  const refused = await run(newFolder(), ["slack", "--answers", join(cwd, "swapped.yaml")], env);
  expect(refused).toMatchObject({
    code: 1,
    output: expect.stringMatching(/✗ That is a user token of Slack[^]*✗ Slack is not connected/),
  });
});
