import { packageInfo } from "../../app/process/package-info.ts";
import type { Skill } from "../../agent/skills/library.ts";
import type { CommandContext } from "../../app/command-context.ts";
import { listMissingSecrets } from "../../app/hooks.ts";
import { openSandboxBackend } from "../../app/sandbox.ts";
import { findMissingSearchKey } from "../../app/web.ts";
import type { Finding } from "../../chat/adapter.ts";
import { type Config, listUnknownVariables } from "../../config/load.ts";
import { checkDisk } from "../../sandbox/checks.ts";
import type { Check } from "./check.ts";
import { checkClock } from "./clock.ts";
import { checkConsoleAddress } from "./console.ts";
import { checkMcp } from "./mcp.ts";
import { checkModels } from "./models.ts";
import { checkDiscordApp, checkSlackApp } from "./platforms.ts";
import { checkRedis } from "./redis.ts";
import { checkSkills, loadSkills } from "./skills.ts";

/** In the order in which they are printed. `limitMs`: how long one may take, where that is not the usual time. */
export const checks: readonly { what: string; run: Check; limitMs?: number }[] = [
  { what: "node", run: async () => [checkNodeVersion(process.version)] },
  { what: "settings", run: checkSettings },
  { what: "model", run: checkModels },
  { what: "redis", run: checkRedis },
  { what: "sandbox", run: checkSandbox },
  { what: "disk", run: checkDataDisk },
  { what: "console", run: checkConsoleAddress },
  { what: "slack", run: checkSlackApp },
  { what: "discord", run: checkDiscordApp },
  // A server that does not answer is waited for, and then ended in some three seconds: see `McpPool.close`.
  { what: "mcp", run: checkMcp, limitMs: 15_000 },
  { what: "skills", run: checkSkills },
  { what: "clock", run: checkClock },
];

/** The bootstrap provides the right one; who starts the program without it may have another. */
export function checkNodeVersion(version: string): Finding {
  const oldest = packageInfo.engines.node.replace(/^>=/, "");
  const [major = 0, minor = 0] = version.slice(1).split(".").map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldest.split(".").map(Number);
  const isOld = major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
  if (!isOld) return { level: "ok", text: version };
  const text = `${version} is older than ${oldest}: start Heddle by npm start, which brings a newer one, or install one from https://nodejs.org.`;
  return { level: "error", text };
}

async function checkSettings({ config }: CommandContext): Promise<Finding[]> {
  const { settingsFile, variables } = config;
  const searchKey = findMissingSearchKey(config);
  return [
    settingsFile === undefined
      ? { level: "ok", text: "no heddle.yaml, so the defaults apply (heddle.example.yaml has all of them)" }
      : { level: "ok", text: settingsFile },
    ...listUnknownVariables(variables).map((name): Finding => {
      const text = `${name} is set, but Heddle has no such setting: .env.example has the names. Ignore this if mcp.json or egress.credentials use it.`;
      return { level: "warning", text };
    }),
    ...listMissingSecrets(config).map(
      ({ name, variable }): Finding => ({
        level: "error",
        text: `${variable} is not set, so the trigger ${name} takes nothing: set it in the environment or in .env.`,
      }),
    ),
    ...(searchKey === undefined ? [] : [warnOfSearchKey(searchKey)]),
  ];
}

function warnOfSearchKey(variable: string): Finding {
  const text = `web.search names a service whose key is not set, so nobody can search the web: set ${variable}, or remove web.search.`;
  return { level: "warning", text };
}

async function checkSandbox(setup: CommandContext): Promise<Finding[]> {
  const backend = openSandboxBackend(setup.config);
  try {
    const probe = await backend.probe();
    const level = probe.ok ? "warning" : "error";
    const problems = probe.problems.map(({ what, fix }): Finding => ({ level, text: `${what} ${fix}` }));
    if (!probe.ok) return problems;
    const { skills: loaded } = await loadSkills(setup);
    const uses = usesOf(probe.missing, setup.config, loaded);
    return [
      { level: "ok", text: probe.summary },
      ...problems,
      ...uses.map(([program, use]): Finding => {
        const text = `The sandbox has no ${program}, which ${use}: install it on this host.`;
        return { level: "warning", text };
      }),
    ];
  } finally {
    await backend.close();
  }
}

/** Those of the missing programs that something which is switched on cannot do without, each with what that is. */
function usesOf(missing: readonly string[], { settings }: Config, loaded: readonly Skill[]) {
  return missing.flatMap((program): [string, string][] => {
    if (program === "pdftotext") {
      return settings.attachments.files > 0
        ? [[program, "is needed to read PDFs (package poppler-utils)"]]
        : [];
    }
    const use = new RegExp(`\\b${program} `);
    const users = loaded.filter(({ instructions }) => use.test(instructions));
    return users.length > 0
      ? [[program, `is needed by the skills ${users.map(({ name }) => name).join(", ")}`]]
      : [];
  });
}

async function checkDataDisk({ config }: CommandContext): Promise<Finding[]> {
  return [await checkDisk(config.dataDir, config.settings.sandbox.freeMb * 1024 ** 2)];
}
