import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { describeSettings } from "../../../src/app/configuration/describe-settings.ts";
import { createLiveConfiguration } from "../../../src/app/configuration/live-configuration.ts";
import { loadConfiguration, reloadConfiguration } from "../../../src/app/configuration/load.ts";
import type { SettingLine } from "../../../src/operations/reports.ts";
import type { AdminChange } from "../../../src/queue/stores/administration-changes.ts";

const by = { id: "UADMIN", name: "admin" };

async function open(text: string | undefined, env: Record<string, string> = {}) {
  const folder = await mkdtemp(join(tmpdir(), "heddle-settings-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "heddle.yaml");
  if (text !== undefined) await writeFile(path, text);
  const started = await loadConfiguration(env, folder);
  const note = () => undefined;
  const configuration = createLiveConfiguration({
    ...{ started, load: (inForce) => reloadConfiguration(inForce, env, folder), now: () => 1 },
    ...{ log: { info: note, warn: note, error: note }, onSecret: note },
  });
  return { configuration, path };
}

const find = (lines: readonly SettingLine[] = [], wanted: string) =>
  lines.flatMap(({ name, value, from }) => (name === wanted ? [[value, from]] : []))[0];

const text = `
model: openai/gpt-5
agent: { maxSteps: 7, instructions: Be brief. }
egress: { allow: [example.com] }
tools: { rules: [{ tool: bash, command: "git push*", action: ask }] }
providers:
  house: { protocol: openai-chat, baseUrl: "http://127.0.0.1:1/v1", headers: { X-Team: plain-looking-key } }
models:
  openai/gpt-5: { body: { top_k: 20, user_key: another-key } }
budgets: { users: { "slack:T1:U1": {} }, channel: { cost: 3 } }
channels:
  slack:T1:C1: { verbosity: quiet, network: [api.example.org], tools: [read_file] }
`;

test("each setting in force has its value and where it comes from, and no header or field of a request is told", async () => {
  const { configuration, path } = await open(text, { OPENAI_API_KEY: "sk-of-nobody-1234" });
  const report = describeSettings(configuration);
  expect(report).toMatchObject({ file: path, at: 1, restart: [], ignored: [] });
  expect(report).not.toHaveProperty("problem");
  const { settings } = report;
  expect(find(settings, "model")).toEqual(["openai/gpt-5", "file"]);
  expect(find(settings, "agent.maxSteps")).toEqual(["7", "file"]);
  expect(find(settings, "agent.maxMinutes")).toEqual(["60", "default"]);
  expect(find(settings, "mcp.config")?.[1]).toBe("default");
  expect(find(settings, "tools.rules")?.[0]).toBe(`- tool: bash\n  command: git push*\n  action: ask`);
  expect(find(settings, "providers.house.headers.X-Team")).toEqual(["(not shown)", "file"]);
  expect(find(settings, "models.openai/gpt-5.body.user_key")).toEqual(["(not shown)", "file"]);
  expect(find(settings, "budgets.users.slack:T1:U1")).toEqual(["{}", "file"]);
  expect(JSON.stringify(report)).not.toMatch(/plain-looking-key|another-key|sk-of-nobody/);
});

test("of a channel it has what holds there, with what administrators have changed in chat", async () => {
  const { configuration } = await open(text, { OPENAI_API_KEY: "sk-of-nobody-1234" });
  const changed = (change: Partial<AdminChange>) => ({ by, at: 1, ...change }) as AdminChange;
  await configuration.change([
    changed({ setting: "verbosity", of: "slack:T1:C1", value: "full" }),
    changed({ setting: "budget", of: "slack:T1:C2", value: { cost: 9 } }),
    changed({ setting: "model", of: "slack:T1:C2", value: "none/such" }),
    changed({ setting: "person", of: "slack:T1:U9", value: "allow" }),
  ]);
  const { channels, settings, ignored } = describeSettings(configuration);
  expect(channels.map(({ id }) => id)).toEqual(["slack:T1:C1", "slack:T1:C2"]);
  const [first, second] = channels.map((one) => one.settings);
  expect(find(first, "verbosity")).toEqual(["full", "chat"]);
  expect(find(first, "tools")).toEqual(["read_file", "file"]);
  expect(find(first, "network")).toEqual(["example.com, api.example.org", "file"]);
  expect(find(first, "model")).toEqual(["openai/gpt-5", "everywhere"]);
  expect(find(first, "budget")).toEqual(["$3.00 a day", "everywhere"]);
  expect(find(second, "budget")).toEqual(["$9.00 a day", "chat"]);
  expect(find(second, "network")).toEqual(["example.com", "everywhere"]);
  expect(find(settings, "access.slack.users")).toEqual(["T1:U9", "chat"]);
  expect(ignored).toMatchObject([{ setting: "model", of: "slack:T1:C2" }]);
});

test("without a file everything is as by default, but for the model that the environment names", async () => {
  const report = describeSettings((await open(undefined, { HEDDLE_MODEL: "demo" })).configuration);
  expect(report).not.toHaveProperty("file");
  expect(find(report.settings, "model")).toEqual(["demo", "environment"]);
  expect(report.settings.filter(({ from }) => from !== "default").map(({ name }) => name)).toEqual(["model"]);
});

test("a file that is refused, and what waits for a restart, is told", async () => {
  const { configuration, path } = await open("{}");
  await writeFile(path, "sandbox: { memoryMb: 500 }");
  await configuration.reload();
  expect(describeSettings(configuration).restart).toEqual(["sandbox"]);
  await writeFile(path, "agent: { maxStep: 7 }");
  await configuration.reload();
  const { problem, settings } = describeSettings(configuration);
  expect(problem).toContain("agent.maxStep: unknown key");
  expect(find(settings, "agent.maxSteps")).toEqual(["50", "default"]);
});
