import { mkdirSync, mkdtempSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { readMcpConfig } from "../../src/agent/mcp/read-config.ts";
import { beyondSchema } from "../../scripts/reference/reference.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import { loadConfig, listUnknownVariables } from "../../src/config/load.ts";
import { chooseModel } from "../../src/config/model-choice.ts";
import { validateForEditors } from "./json-schema.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "heddle-config-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const load = (env: Record<string, string> = {}, yaml?: string) => {
  if (yaml !== undefined) writeFileSync(join(folder, "heddle.yaml"), yaml);
  try {
    return loadConfig(env, folder);
  } catch (error) {
    if (yaml !== undefined && Object.keys(env).length === 0) expectRefusedByEditors(yaml, String(error));
    throw error;
  }
};

/** Every refusal that is tested here is one of the JSON Schema's too, or on the list of what it cannot say. */
function expectRefusedByEditors(yaml: string, error: string): void {
  if (error.includes("is not YAML")) return;
  const accepted = validateForEditors(parse(yaml));
  const beyond = error
    .split("\n  ")
    .slice(1)
    .some((fault) => beyondSchema.some(({ place }) => place.test(fault)));
  expect({ yaml, isRefused: !accepted || beyond }).toEqual({ yaml, isRefused: true });
}

describe("The configuration", () => {
  test("needs nothing at all", () => {
    const { environment, settings, dataDir, secrets } = load();
    expect(environment.HEDDLE_HOST).toBe("127.0.0.1");
    expect(settings.agent.maxSteps).toBe(50);
    expect(dataDir).toBe(join(folder, "data"));
    expect(secrets).toEqual([]);
  });

  test("refuses an unknown key with its place and the known ones", () => {
    expect(() => load({}, "agent:\n  maxStep: 3\n")).toThrow(
      /agent\.maxStep: unknown key; known here: maxSteps, maxMinutes/,
    );
  });

  test("takes budgets of the day, some of them for one person or channel", () => {
    const { settings } = load(
      {},
      `
budgets:
  timeZone: Europe/Berlin
  day: { cost: 100 }
  user: { cost: 5, tokens: 2000000 }
  users: { "slack:T1:U1": {} }
`,
    );
    expect(settings.budgets).toMatchObject({
      ...{ timeZone: "Europe/Berlin", day: { cost: 100 }, user: { cost: 5, tokens: 2_000_000 } },
      ...{ users: { "slack:T1:U1": {} }, channel: {}, extensionPercent: 50, keepDays: 92 },
    });
    expect(() => load({}, "budgets: { timeZone: Mars }")).toThrow(
      /budgets\.timeZone: expected a time zone, e\.g\. UTC/,
    );
    expect(() => load({}, "budgets: { channels: { general: { cost: 1 } } }")).toThrow(
      /budgets\.channels\.general: /,
    );
  });

  test("takes other models, for when the first fails and for summaries, and limits of models nobody knows", () => {
    const { settings } = load(
      {},
      `
fallbackModels: [openai/gpt-6.1-sol]
summaryModel: anthropic/claude-haiku-5-5
taskModel: openai/local
models:
  openai/local: { contextTokens: 32000, images: false }
`,
    );
    expect(settings).toMatchObject({
      fallbackModels: ["openai/gpt-6.1-sol"],
      summaryModel: "anthropic/claude-haiku-5-5",
      taskModel: "openai/local",
      models: { "openai/local": { contextTokens: 32_000, images: false } },
    });
    expect(() => load({}, "models:\n  openai/local:\n    context: 3\n")).toThrow(
      /models\.openai\/local\.context: unknown key; known here: contextTokens, maxOutputTokens, images, price/,
    );
    expect(() => load({}, "fallbackModels: [gpt]\n")).toThrow(/fallbackModels\.0: expected anthropic/);
  });

  test("takes the part of Discord that a gateway listens to, if it makes sense", () => {
    const { settings } = load({}, "discord:\n  shards: { ids: [0, 1], total: 4 }\n");
    expect(settings.discord).toMatchObject({ messageContent: true, shards: { ids: [0, 1], total: 4 } });
    expect(() => load({}, "discord:\n  shards: { ids: [4], total: 4 }\n")).toThrow(
      /expected ids below the total/,
    );
  });

  test("refuses a wrong value with its place and what was expected, all faults at once", () => {
    expect(() => load({ HEDDLE_PORT: "many", HEDDLE_LOG_LEVEL: "loud" })).toThrow(
      /HEDDLE_PORT[\s\S]*HEDDLE_LOG_LEVEL/,
    );
    expect(() => load({ HEDDLE_MODEL: "gpt" })).toThrow(/HEDDLE_MODEL: expected anthropic\/<id>/);
  });

  test.each([
    [{ HEDDLE_PORT: "many" }, "", /HEDDLE_PORT: expected a number from 0 to 65535, e\.g\. 8420\.$/],
    [{ HEDDLE_PORT: "70000" }, "", /HEDDLE_PORT: expected a number from 0 to 65535, e\.g\. 8420\.$/],
    [
      { HEDDLE_DATA_DIR: "/proc/x" },
      "",
      /HEDDLE_DATA_DIR: expected a folder .*, which \/proc cannot, e\.g\. \.\/data\.$/,
    ],
    [{ SLACK_API_URL: "slack" }, "", /SLACK_API_URL: expected an address such as https:/],
    [
      {},
      "slack: { startReactions: [octagonal_sign] }",
      /slack\.startReactions: expected other reactions than stopReactions/,
    ],
    [{}, "agent: { maxSteps: lots }", /agent\.maxSteps: expected number, received string\.$/],
    [
      {},
      "tools: { rules: [{ toll: bash, action: ask }] }",
      /tools\.rules\.0\.toll: unknown key; known here: tool, effect, command, action, eachTime, why\. Did you mean tool\?$/,
    ],
    [{}, "acess: { stop: everyone }", /acess: unknown key; .* Did you mean access\?$/],
    [
      {},
      "queue: { lockSeconds: 30, fenceSeconds: 30 }",
      /queue\.fenceSeconds: expected more than lockSeconds/,
    ],
    [{}, "queue: { jobFenceSeconds: 30, fenceSeconds: 60 }", /queue\.jobFenceSeconds: expected at least/],
    [{}, "weather: fine", /weather: unknown key; known here: [^?]*\.$/],
    [
      {},
      "budgets: { user: 5 }",
      /budgets\.user: expected object, received number; keys known here: cost, tokens\.$/,
    ],
    [{}, "sandbox: { commandSeconds: 900 }", /sandbox\.commandSeconds: expected number to be <=600\.$/],
  ])("says what was expected without the validator's jargon: %j %s", (env, yaml, message) => {
    expect(() => load(env, yaml)).toThrow(message);
  });

  const triggerWith = (template: string) => `
triggers:
  t:
    { verify: github, secretVariable: S, channel: "local:console:main", onBehalfOf: { id: a, name: A }, ${template} }
`;

  test.each(["{{number of {{title}}", "{{", "{{#if draft}}", "{{@evnt}}", "{{a..b}} {{title}}"])(
    "refuses what begins a place in a trigger's template and is none: %s",
    (template) => {
      const refusal = "expected behind each {{ a value's place and }}, e.g. {{pull_request.title}}";
      expect(() => load({}, triggerWith(`prompt: "${template}"`))).toThrow(`triggers.t.prompt: ${refusal}`);
      const key = triggerWith(`prompt: x, threadKey: "${template}"`);
      expect(() => load({}, key)).toThrow(`triggers.t.threadKey: ${refusal}`);
    },
  );

  test("takes templates with places of every form, and braces that begin none", () => {
    const prompt = "{ {{ title }}: {{commits[0].on[1]}} } {{commits.0.id}} {{@event}} {{body}} }}".repeat(
      120,
    );
    const { settings } = load({}, triggerWith(`prompt: "${prompt}"`));
    expect(settings.triggers["t"]?.prompt).toBe(prompt);
  });

  test.each(["workspaces: { store: /proc/x }", "telemetry: { auditFolder: /proc/x }"])(
    "refuses a folder in /proc, where making one never ends: %s",
    (yaml) => {
      writeFileSync(join(folder, "heddle.yaml"), yaml);
      expect(() => load()).toThrow(
        /(store|auditFolder): expected a folder that can hold files, which \/proc cannot/,
      );
    },
  );

  test.each(["heddle.yaml", ".env"])("is refused where %s is a link that leads nowhere", (name) => {
    symlinkSync(join(folder, "gone"), join(folder, name));
    expect(() => load()).toThrow(`${name} is a link to a file that does not exist; correct or remove it.`);
  });

  test("refuses a data folder that a link puts into /proc", () => {
    symlinkSync("/proc", join(folder, "link"));
    expect(() => load({ HEDDLE_DATA_DIR: "link/data" })).toThrow(/HEDDLE_DATA_DIR: .*\/proc cannot/);
  });

  test("knows variables that only look like its own", () => {
    const names = {
      HEDDLE_MODELL: "demo",
      DISCORD_BOT_TOKEN: "x",
      SLACK_BOT_TOKEN: "xoxb-1",
      GITHUB_TOKEN: "y",
    };
    expect(listUnknownVariables(load(names).variables)).toEqual(["HEDDLE_MODELL", "DISCORD_BOT_TOKEN"]);
  });

  test("never repeats a value: it may be a secret in the wrong place", () => {
    try {
      load({ HEDDLE_MODEL: "sk-secret-key" });
    } catch (error) {
      expect(String(error)).not.toContain("sk-secret-key");
    }
  });

  test("reads .env, and the environment wins", () => {
    writeFileSync(join(folder, ".env"), "ANTHROPIC_API_KEY=from-file\nHEDDLE_PORT=1234\n");
    const { environment } = load({ HEDDLE_PORT: "4321" });
    expect(environment.ANTHROPIC_API_KEY).toBe("from-file");
    expect(environment.HEDDLE_PORT).toBe(4321);
  });

  test("reads files that begin with a byte order mark, as editors of Windows write them", async () => {
    writeFileSync(join(folder, ".env"), "\uFEFFANTHROPIC_API_KEY=from-file\r\n");
    writeFileSync(join(folder, "heddle.yaml"), "\uFEFFaccess: { stop: requester }\n");
    const { environment, settings } = load({});
    expect(environment.ANTHROPIC_API_KEY).toBe("from-file");
    expect(settings.access.stop).toBe("requester");
    writeFileSync(join(folder, "mcp.json"), '\uFEFF{ "mcpServers": {} }');
    expect((await readMcpConfig(join(folder, "mcp.json"), {})).servers).toEqual([]);
  });

  test("treats an empty variable as absent, so that the one of .env counts", () => {
    writeFileSync(join(folder, ".env"), "OPENAI_API_KEY=from-file\n");
    expect(load({ OPENAI_API_KEY: " " }).environment.OPENAI_API_KEY).toBe("from-file");
    expect(load({ ANTHROPIC_API_KEY: "" }).environment.ANTHROPIC_API_KEY).toBeUndefined();
  });

  test("takes no blanks or line breaks around a value, from .env neither, and none but them as absent", () => {
    writeFileSync(join(folder, ".env"), 'OPENAI_API_KEY="sk-from-file "\r\nHOOK=in .env\r\n');
    const { environment, variables, secrets } = load({
      ...{ ANTHROPIC_API_KEY: "sk-ant-from-a-secret\n", MINIMAX_API_KEY: " \r\n", HEDDLE_PORT: "4321\r" },
      GITHUB_APP_PRIVATE_KEY: "-----BEGIN\nabc\n-----END\n",
    });
    expect(environment).toMatchObject({
      ...{ ANTHROPIC_API_KEY: "sk-ant-from-a-secret", OPENAI_API_KEY: "sk-from-file", HEDDLE_PORT: 4321 },
      GITHUB_APP_PRIVATE_KEY: "-----BEGIN\nabc\n-----END",
    });
    expect(environment.MINIMAX_API_KEY).toBeUndefined();
    expect(variables["HOOK"]).toBe("in .env");
    expect(secrets).toContain("sk-ant-from-a-secret");
  });

  test("takes the keys of what is stored as they are: a version before took the line break for a part of them", () => {
    const key = `${"k".repeat(40)}\n`;
    const { environment } = load({ HEDDLE_SEAL_KEY: key, HEDDLE_AUDIT_KEY: key });
    expect([environment.HEDDLE_SEAL_KEY, environment.HEDDLE_AUDIT_KEY]).toEqual([key, key]);
  });

  test("says when the named file does not exist or is not YAML", () => {
    expect(() => load({ HEDDLE_CONFIG: "nowhere.yaml" })).toThrow(/nowhere\.yaml, which does not exist/);
    writeFileSync(join(folder, ".env"), "HEDDLE_CONFIG=elsewhere.yaml\n");
    expect(() => load()).toThrow(/elsewhere\.yaml, which does not exist/);
    rmSync(join(folder, ".env"));
    expect(() => load({}, "agent: [")).toThrow(/heddle\.yaml is not YAML/);
    expect(() => load({}, "agent: *nobody")).toThrow(/heddle\.yaml is not YAML/);
  });

  test.each(["heddle.yaml", ".env"])("is refused where %s is there and cannot be read", (name) => {
    const path = join(folder, name);
    mkdirSync(path);
    expect(() => load()).toThrow(new ConfigError(`${path} is a folder; put the file in its place.`));
    rmdirSync(path);
    // A link to itself exists, and cannot be followed.
    symlinkSync(name, path);
    const unreadable =
      "cannot be read (ELOOP); make it and its folder readable for the user that runs Heddle.";
    expect(() => load()).toThrow(new ConfigError(`${path} ${unreadable}`));
  });

  test("says who may do what, and wants ids in quotes, because YAML rounds long numbers", () => {
    const { access } = load({}, 'access:\n  discord: { guilds: ["80351110224678912"] }\n').settings;
    expect(access).toMatchObject({
      administrators: [],
      slack: { allow: ["members"], users: [] },
      discord: { guilds: ["80351110224678912"], roles: [], users: [] },
      stop: "everyone",
      approve: "requester",
    });
    expect(() => load({}, "access:\n  administrators: [80351110224678912]\n")).toThrow(
      /access\.administrators\.0: expected an id in quotes, e\.g\. "U012345" \(Slack\)/,
    );
    const one = "access: { administrators: [T012345:U012345], bots: [T012345:U054321] }\n";
    expect(load({}, one).settings.access.administrators).toEqual(["T012345:U012345"]);
    expect(() => load({}, "access: { administrators: [slack:T012345:U012345] }\n")).toThrow(
      /access\.administrators\.0: expected an id, or a workspace and an id \(T012345:U012345\)/,
    );
    expect(() => load({}, "access:\n  stop: nobody\n")).toThrow(/access\.stop: .*"requester"/);
  });

  test("says what is different in a channel", () => {
    const { channels } = load(
      {},
      'channels:\n  slack:T1:C1: { verbosity: quiet, tools: ["github__*"] }\n',
    ).settings;
    expect(channels["slack:T1:C1"]).toEqual({ verbosity: "quiet", tools: ["github__*"], network: [] });
    expect(() => load({}, "channels:\n  general: {}\n")).toThrow(
      /channels\.general: .*platform:workspace:channel/,
    );
    expect(() => load({}, "channels:\n  slack:T1:C1: { modle: demo }\n")).toThrow(
      /channels\.slack:T1:C1\.modle: unknown key; known here: model, /,
    );
  });

  test.each([
    ["model", "gpt", /expected/],
    ["modelChoices", ["gpt"], /expected/],
    ["skills", "changelog", /expected array/],
    ["tools", [""], /expected string to have/],
    ["instructions", 3, /expected string/],
    ["verbosity", "loud", /expected one of "quiet"\|"normal"\|"full"/],
    ["network", ["https://x.example/path"], /expected/],
  ])("refuses a wrong value of a channel with its place: %s", (key, value, expected) => {
    const yaml = JSON.stringify({ channels: { "slack:T1:C1": { [key]: value } } });
    expect(() => load({}, yaml)).toThrow(
      new RegExp(`channels\\.slack:T1:C1\\.${key}.*: .*${expected.source}`),
    );
  });

  test("knows every secret, the password of Redis too", () => {
    const { secrets } = load({ OPENAI_API_KEY: "key-1", REDIS_URL: "redis://me:pass-2@host:6379" });
    expect(secrets).toEqual(["key-1", "pass-2"]);
  });

  test("knows the secrets of repositories, of their webhooks too", () => {
    const shop = {
      ...{ url: "https://github.com/acme/shop", tokenVariable: "SHOP_TOKEN" },
      feedback: { secretVariable: "SHOP_HOOK" },
    };
    const environment = { SHOP_TOKEN: "token-1", SHOP_HOOK: "hook-2" };
    const { secrets } = load(environment, JSON.stringify({ repositories: { shop } }));
    expect(secrets).toEqual(["token-1", "hook-2"]);
  });

  test.each(["REDIS_URL", "OPENAI_BASE_URL", "SLACK_API_URL", "DISCORD_API_URL", "https_proxy", "ALL_PROXY"])(
    "knows the password in the address %s, as written and as sent, and no other word of it",
    (name) => {
      const scheme = name === "REDIS_URL" ? "redis" : "http";
      const { secrets } = load({ [name]: `${scheme}://somebody:p%40ss:w%2fd@host.example:6379/0` });
      expect(secrets).toEqual(["p%40ss:w%2fd", "p@ss:w/d"]);
      expect(load({ [name]: `${scheme}://somebody@host.example:6379/0` }).secrets).toEqual([]);
    },
  );

  test("leaves variables alone that are not Heddle's: what they hold may be an ordinary word", () => {
    expect(load({ DATABASE_URL: "postgres://postgres:postgres@localhost/db" }).secrets).toEqual([]);
  });

  test("knows the secrets in the collector's headers, as written and as sent, and puts the audit folder beside the file", () => {
    const { secrets, settings } = load(
      { OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20key-3, x-team = a%b ,=none" },
      "telemetry:\n  auditFolder: kept\n",
    );
    expect(secrets).toEqual(expect.arrayContaining(["Bearer key-3", "key-3", "Bearer%20key-3", "a%b"]));
    expect(settings.telemetry.auditFolder).toBe(join(folder, "kept"));
  });
});

describe("The model", () => {
  const choose = (env: Record<string, string>, named?: string) =>
    chooseModel(load(env, named && `model: ${named}\n`));

  test("is the demo without a key", () => {
    expect(choose({})).toEqual({ provider: "demo" });
  });

  test("is the default of the first provider with a key", () => {
    const both = choose({ OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a" });
    expect(both).toMatchObject({ provider: "anthropic", model: "claude-sonnet-5-5", apiKey: "a" });
    expect(choose({ MINIMAX_API_KEY: "m" })).toMatchObject({ provider: "minimax", model: "MiniMax-M2.5" });
  });

  test("is the named one, of the environment before the settings", () => {
    expect(choose({ OPENAI_API_KEY: "o", HEDDLE_MODEL: "openai/gpt-5" }, "demo")).toMatchObject({
      model: "gpt-5",
    });
    expect(choose({ OPENAI_API_KEY: "o" }, "demo")).toEqual({ provider: "demo" });
  });

  test("needs its key", () => {
    expect(() => choose({ HEDDLE_MODEL: "anthropic/x" })).toThrow(/needs ANTHROPIC_API_KEY/);
  });
});
