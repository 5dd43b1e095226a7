/** The set-up at the console: the real steps against fakes that speak the protocols of model, Slack and Discord. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import type { SetupRun } from "../../../src/adapters/console/setup-at-console.ts";
import type { SetupState } from "../../../src/adapters/console/streams/setup-streams.ts";
import { createAccessTokens } from "../../../src/operations/people/access-tokens.ts";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import { startFakeDiscord } from "../../fakes/discord/fake-discord.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import { call, openStream } from "./requests.ts";
import { type ConsoleSettings, startConsole, type TestConsole } from "./start-console.ts";

const key = "sk-ant-api03-secret-of-a-test-9876";
const botToken = "xoxb-1-2-bot-secret-1234";
const appToken = "xapp-1-A0HEDDLE-3-app-secret-5678";

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

async function services() {
  const hello = { content: [{ type: "text" as const, text: "Hello!" }] };
  const [model, slack, discord] = await Promise.all([
    startFakeAnthropic({ apiKey: key, replies: () => hello }),
    startFakeSlack({ botToken, appToken }),
    startFakeDiscord(),
  ]);
  onTestFinished(async () => {
    await Promise.all([model.close(), slack.close(), discord.close()]);
  });
  const [ANTHROPIC_BASE_URL, SLACK_API_URL, DISCORD_API_URL] = [model.url, slack.url, discord.url];
  return { model, slack, discord, env: { ANTHROPIC_BASE_URL, SLACK_API_URL, DISCORD_API_URL } };
}

/** A person at the console, and everything that was sent to them. */
async function sitDown(settings: ConsoleSettings & { headers?: Record<string, string> } = {}) {
  const { headers = {}, ...rest } = settings;
  const console = await startConsole({ redis, ...rest });
  onTestFinished(() => console[Symbol.asyncDispose]());
  return { console, ...person(console, headers) };
}

function person(console: TestConsole, headers: Record<string, string> = {}) {
  let received = "";
  const keep = <Answer extends { body: string }>(answer: Answer) => {
    received += answer.body;
    return answer;
  };
  const post = async (path: string, json: object) =>
    keep(await call(console.url, `/api/v1/setup${path}`, { method: "POST", json, headers }));
  const state = async () => {
    const answer = keep(await call(console.url, "/api/v1/setup", { headers }));
    // The shape is held to its schema by the request.
    return answer.json() as SetupState;
  };
  /** The run as soon as it asks something that has this in it, or has ended. */
  const until = async (text: string): Promise<SetupRun> => {
    using stream = await openStream(console.url, "/api/v1/setup/events", headers);
    for (;;) {
      const { run } = (await stream.next("setup")) as SetupState;
      received += JSON.stringify(run);
      if (run?.ended || run?.question?.text.includes(text)) return run;
    }
  };
  /** Answers what has this in it. */
  const answer = async (text: string, value: string | boolean) => {
    const { id, question } = await until(text);
    expect(question?.text).toContain(text);
    return await post("/answers", { run: id, question: question?.number, value });
  };
  return { post, state, until, answer, received: () => received };
}

const envOf = ({ folder }: TestConsole) => {
  const path = join(folder, ".env");
  return existsSync(path) ? parseEnv(readFileSync(path, "utf8")) : {};
};

describe("the set-up at the console", () => {
  test("tries and stores key and tokens for the owner alone, and none is sent back, told or noted", async () => {
    const { slack, discord, env } = await services();
    const guild = discord.guild.id;
    const { console, post, answer, until, received } = await sitDown({ setup: { env } });
    expect((await post("", { steps: ["model", "slack", "discord"] })).status).toBe(201);
    await answer("Which model", "anthropic");
    await answer("Key", `export ANTHROPIC_API_KEY="${key}"`);
    await answer("Model", "");
    await answer("Should Heddle answer in Slack?", "tokens");
    await answer("Bot token", ` ${slack.botToken} `);
    await answer("App-level token", slack.appToken);
    await answer("Should Heddle answer in Discord?", "token");
    await answer("Bot token", discord.token);
    await answer("Whose members", guild);
    const run = await until("nothing more");
    expect(run.ended).toBe("done");
    const text = run.said.join("\n");
    expect(text).toContain("✓ anthropic/claude-sonnet-5-5 answered “Hello!”");
    expect(text).toContain("✓ Slack: heddle in Fake team.");
    expect(text).toContain(
      "Start Heddle again, so that it takes SLACK_BOT_TOKEN, SLACK_APP_TOKEN, DISCORD_TOKEN",
    );

    expect(envOf(console)).toEqual({
      ANTHROPIC_API_KEY: key,
      HEDDLE_MODEL: "anthropic/claude-sonnet-5-5",
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: slack.appToken,
      DISCORD_TOKEN: discord.token,
    });
    expect(statSync(join(console.folder, ".env")).mode & 0o777).toBe(0o600);
    expect(parse(readFileSync(join(console.folder, "heddle.yaml"), "utf8"))).toEqual({
      access: { discord: { guilds: [guild] } },
    });
    const noted = JSON.stringify([console.setUp, console.errors]);
    for (const one of [key, slack.botToken, slack.appToken, discord.token]) {
      expect(received()).not.toContain(one);
      expect(noted).not.toContain(one);
    }
    expect(console.setUp).toMatchObject([
      { action: "setup-begun", names: ["model", "slack", "discord"], by: { id: "console" } },
      { action: "setup-saved", names: ["ANTHROPIC_API_KEY", "HEDDLE_MODEL"] },
      { action: "setup-saved", names: ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"] },
      { action: "setup-saved", names: ["DISCORD_TOKEN"] },
      { action: "setup-saved", names: ["access.discord.guilds"] },
      { action: "setup-ended", outcome: "done" },
    ]);
  });

  test("asks again for a key that is refused, which is not told in what the service says of it", async () => {
    const { model, env } = await services();
    const { console, post, answer, until, received } = await sitDown({ setup: { env } });
    await post("", { steps: ["model"] });
    await answer("Which model", "anthropic");
    await answer("Key", "sk-ant-wrong-key-of-somebody");
    await answer("Model", "");
    await answer("Key", key);
    const run = await until("nothing more");
    expect(run.said.join("\n")).toContain("ANTHROPIC_API_KEY was refused");
    expect(run.said.at(-1)).toBe("Heddle takes this within a second; no restart is needed.");
    expect(received()).not.toContain("wrong-key-of-somebody");
    expect(model.bodies.length).toBeGreaterThan(0);
    expect(envOf(console)).toMatchObject({ ANTHROPIC_API_KEY: key });
  });

  test("takes each answer once, and only what the question offers", async () => {
    const { env } = await services();
    const { post, until } = await sitDown({ setup: { env } });
    await post("", { steps: ["model"] });
    const { id, question } = await until("Which model");
    const say = (value: string | boolean, number = question?.number, run = id) =>
      post("/answers", { run, question: number, value });
    expect((await say("gpt-9000")).status).toBe(409);
    expect((await say(true)).status).toBe(409);
    expect((await say("demo", 7)).status).toBe(409);
    expect((await say("demo", question?.number, "another")).status).toBe(409);
    expect((await say("demo")).status).toBe(204);
    expect((await say("demo")).status).toBe(409);
    expect((await post("/answers", { run: id, question: 1, value: 5 })).status).toBe(400);
    // It still writes into the folder, which is removed behind the test.
    expect(await until("nothing more")).toMatchObject({ ended: "done" });
  });

  test("is one person's at a time; another operator may end it, not answer", async () => {
    const { env } = await services();
    const tokens = createAccessTokens(redis.client(), Date.now);
    const bearer = async (name: string) => {
      const { token } = await tokens.create({ name, role: "operator" });
      return { authorization: `Bearer ${token}` };
    };
    const ada = await sitDown({
      setup: { env },
      token: "correct-horse-battery",
      headers: await bearer("ada"),
    });
    const bob = person(ada.console, await bearer("bob"));
    await ada.post("", { steps: ["model"] });
    const { id, question } = await ada.until("Which model");
    const refused = await bob.post("", { steps: ["slack"] });
    expect([refused.status, refused.body]).toEqual([409, expect.stringContaining("ada goes through")]);
    const foreign = await bob.post("/answers", { run: id, question: question?.number, value: "demo" });
    expect([foreign.status, foreign.body]).toEqual([409, expect.stringContaining("ada goes through")]);
    expect((await bob.post("/end", { run: id })).status).toBe(204);
    expect(await ada.until("nothing more")).toMatchObject({ ended: "cancelled" });
    expect((await bob.post("/end", { run: id })).status).toBe(409);
    expect((await bob.post("", { steps: ["slack"] })).status).toBe(201);
    expect(envOf(ada.console)).toEqual({});
  });

  test("ends by itself when nobody answers, and what was saved stays", async () => {
    const { slack, env } = await services();
    const { console, post, answer, until } = await sitDown({ setup: { env, silenceMs: 2_000 } });
    await post("", { steps: ["slack", "model"] });
    await answer("Should Heddle answer in Slack?", "tokens");
    await answer("Bot token", slack.botToken);
    await answer("App-level token", slack.appToken);
    await until("Which model");
    const run = await until("nothing more");
    expect(run).toMatchObject({ ended: "silent" });
    expect(run.question).toBeUndefined();
    expect(envOf(console)).toEqual({ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken });
    expect(console.setUp.at(-1)).toMatchObject({ action: "setup-ended", outcome: "silent" });
    expect((await post("", { steps: ["model"] })).status).toBe(201);
  });
});

describe("the set-up is not to be had", () => {
  const token = "correct-horse-battery";

  test.each(["member", "viewer"] as const)("by a %s", async (role) => {
    const tokens = createAccessTokens(redis.client(), Date.now);
    const { token: own } = await tokens.create({ name: role, role });
    const headers = { authorization: `Bearer ${own}` };
    const { console, post } = await sitDown({ token, headers });
    expect((await call(console.url, "/api/v1/setup", { headers })).status).toBe(403);
    expect((await openStream(console.url, "/api/v1/setup/events", headers)).status).toBe(403);
    for (const [path, json] of [
      ["", { steps: ["model"] }],
      ["/answers", { run: "x", question: 1, value: "x" }],
      ["/end", { run: "x" }],
    ] as const)
      expect((await post(path, json)).status).toBe(403);
    const status = await call(console.url, "/api/v1/status", { headers });
    expect(status.json()).toMatchObject({ connects: false });
    expect(console.setUp).toEqual([]);
  });

  test("where .env cannot be written", async () => {
    const { console, post, state } = await sitDown({ setup: { cwd: "/proc/self" } });
    expect(await state()).toEqual({
      problem: expect.stringContaining("cannot write /proc/self/.env"),
      hearing: [],
    });
    expect((await post("", { steps: ["model"] })).status).toBe(409);
    expect((await call(console.url, "/api/v1/status")).json()).toMatchObject({ connects: false });
  });

  test("where gateway and workers have environments of their own", async () => {
    const { post, state } = await sitDown({ setup: { isWhole: false } });
    expect(await state()).toEqual({
      problem: expect.stringContaining("each with its own environment"),
      hearing: [],
    });
    expect((await post("", { steps: ["model"] })).status).toBe(409);
  });
});
