import { statfs } from "node:fs/promises";
import { existsSync } from "node:fs";
import { ModelError } from "../agent/llm/model.ts";
import type { McpConfig } from "../agent/mcp/config.ts";
import { createMcpPool } from "../agent/mcp/pool.ts";
import { createSkillLibrary } from "../agent/skills/library.ts";
import { shippedSkills } from "../foundation.ts";
import { type Config, ConfigError } from "../config/load.ts";
import { chooseModel } from "../config/model-choice.ts";
import { openModels } from "../models.ts";
import { openRedis } from "../redis.ts";
import { openSandboxBackend } from "../sandbox/open.ts";
import type { SandboxBackend } from "../sandbox/sandbox.ts";
import { setUp } from "./setup.ts";

/** One fact about this installation. Everything but `ok` comes with what to do. */
interface Finding {
  level: "ok" | "warning" | "error";
  what: string;
  text: string;
}

const signs = { ok: "✓", warning: "!", error: "✗" };

/** Checks everything that Heddle needs, prints a line each, and exits with 1 when something is an error. */
export async function command(): Promise<number> {
  const setup = await setUp("silent");
  let failed = false;
  for (const check of [node, model, redis, sandbox, disk, slack, discord, mcp, skills]) {
    for (const { level, what, text } of await check(setup.config, setup.mcp)) {
      failed ||= level === "error";
      process.stdout.write(setup.masker.mask(`${signs[level]} ${what.padEnd(9)} ${text}\n`));
    }
  }
  return failed ? 1 : 0;
}

async function node(): Promise<Finding[]> {
  return [{ level: "ok", what: "node", text: process.version }];
}

async function model(config: Config): Promise<Finding[]> {
  try {
    const choice = chooseModel(config.environment, config.settings.model);
    if (choice.provider === "demo") {
      const text =
        "demo: it plays scripts. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or MINIMAX_API_KEY for a real one.";
      return [{ level: "warning", what: "model", text }];
    }
    const { model: opened, summariser } = await openModels(config, { warn() {} });
    const { contextTokens, maxOutputTokens } = opened.limits;
    const others = [
      ...config.settings.fallbackModels.map((name) => `then ${name}`),
      ...(summariser === opened ? [] : [`summaries by ${summariser.id}`]),
    ];
    const text = [`${opened.id}, ${contextTokens} tokens in, ${maxOutputTokens} out`, ...others].join("; ");
    return [{ level: "ok", what: "model", text }];
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof ModelError)) throw error;
    return [{ level: "error", what: "model", text: error.message }];
  }
}

async function redis(config: Config): Promise<Finding[]> {
  try {
    const server = await openRedis(config, { info() {}, warn() {} });
    const findings: Finding[] = [
      { level: "ok", what: "redis", text: server.describe },
      ...server.warnings.map((text): Finding => ({ level: "warning", what: "redis", text })),
    ];
    await server.close();
    return findings;
  } catch (error) {
    return [{ level: "error", what: "redis", text: error instanceof Error ? error.message : String(error) }];
  }
}

async function sandbox(config: Config): Promise<Finding[]> {
  let backend: SandboxBackend;
  try {
    backend = openSandboxBackend(config);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [{ level: "error", what: "sandbox", text: error.message }];
  }
  const probe = await backend.probe();
  await backend.close();
  return [
    ...(probe.ok ? [{ level: "ok", what: "sandbox", text: probe.summary } as const] : []),
    ...probe.problems.map(
      ({ what, fix }): Finding => ({
        level: probe.ok ? "warning" : "error",
        what: "sandbox",
        text: `${what} ${fix}`,
      }),
    ),
  ];
}

/** Below this a workspace may fail to write in the middle of a task, in bytes. */
const lowDisk = 1024 ** 3;

async function disk({ dataDir }: Config): Promise<Finding[]> {
  const { bavail, bsize } = await statfs(existsSync(dataDir) ? dataDir : ".");
  const free = bavail * bsize;
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB free for ${dataDir}`;
  return [
    {
      level: free < lowDisk ? "warning" : "ok",
      what: "disk",
      text: free < lowDisk ? `${text}: make room` : text,
    },
  ];
}

async function slack({ environment, settings }: Config): Promise<Finding[]> {
  const { SLACK_BOT_TOKEN, SLACK_APP_TOKEN, SLACK_CLIENT_ID, SLACK_API_URL } = environment;
  if (!SLACK_BOT_TOKEN && !SLACK_APP_TOKEN && !SLACK_CLIENT_ID) {
    return [
      {
        level: "warning",
        what: "slack",
        text: "not connected: set SLACK_BOT_TOKEN and SLACK_APP_TOKEN (README, “Slack”).",
      },
    ];
  }
  const [{ checkSlack }, { chooseEvents, chooseWorkspaces }] = await Promise.all([
    import("../adapters/slack/check.ts"),
    import("../adapters/slack/choice.ts"),
  ]);
  try {
    const finding = await checkSlack({
      workspaces: chooseWorkspaces(environment, settings.slack.workspaces),
      events: chooseEvents(environment, settings.slack.http),
      ...(SLACK_API_URL && { apiUrl: SLACK_API_URL }),
    });
    return [{ what: "slack", ...finding }];
  } catch (error) {
    return [{ level: "error", what: "slack", text: error instanceof Error ? error.message : String(error) }];
  }
}

async function discord({ environment, settings }: Config): Promise<Finding[]> {
  const { DISCORD_TOKEN, DISCORD_API_URL } = environment;
  if (!DISCORD_TOKEN) {
    const text = "not used: DISCORD_TOKEN connects it (README, “Discord in five steps”).";
    return [{ level: "ok", what: "discord", text }];
  }
  const { checkDiscord } = await import("../adapters/discord/check.ts");
  const findings = await checkDiscord({
    token: DISCORD_TOKEN,
    ...(DISCORD_API_URL && { apiUrl: DISCORD_API_URL }),
    messageContent: settings.discord.messageContent,
  });
  return findings.map((finding) => ({ what: "discord", ...finding }));
}

async function mcp(_config: Config, { servers, secrets }: McpConfig): Promise<Finding[]> {
  const pool = createMcpPool({ config: { servers, secrets } });
  await pool.tools(AbortSignal.timeout(15_000));
  const findings = pool.status().map(({ server, state, tools, problem }): Finding => {
    const text = `${server}: ${state}, ${tools.length} tools${problem ? `. ${problem}` : ""}`;
    return { level: problem ? "warning" : "ok", what: "mcp", text };
  });
  await pool.close();
  return findings;
}

async function skills({ settings }: Config): Promise<Finding[]> {
  const set = await createSkillLibrary({
    folders: settings.skills.folders ?? [shippedSkills],
    pins: settings.skills.pins,
  }).current();
  return [
    { level: "ok", what: "skills", text: set.skills.map(({ name }) => name).join(", ") || "none" },
    ...set.problems.map(
      ({ path, reason }): Finding => ({ level: "warning", what: "skills", text: `${path}: ${reason}` }),
    ),
  ];
}
