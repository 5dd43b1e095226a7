import { findConfigurationProblems, readConfigurations } from "../../operations/configurations.ts";
import { listWatched } from "../../app/channel-watch.ts";
import { packageInfo } from "../../app/process/package-info.ts";
import { checkConsole } from "../../adapters/console/server/listen.ts";
import { lookUpModel } from "../../agent/llm/catalogue.ts";
import { checkAccess, resolveProtocol } from "../../agent/llm/check-access.ts";
import { findSettingsConflict } from "../../agent/llm/open.ts";
import { findToolLimit } from "../../agent/llm/tool-limit.ts";
import { takesPersons } from "../../agent/mcp/config.ts";
import { openMcpPool } from "../../agent/mcp/pool.ts";
import { readNetworkCode } from "../../agent/network-code.ts";
import { createSkillLibrary, type Skill, type SkillSet } from "../../agent/skills/library.ts";
import type { CommandContext } from "../../app/command-context.ts";
import { shippedSkills } from "../../app/host.ts";
import { consoleTokenFile, findConsoleOthers } from "../../app/console-token.ts";
import { listMissingSecrets } from "../../app/hooks.ts";
import { readOpenId } from "../../app/open-id.ts";
import { readInstance } from "../../app/process/instance.ts";
import { openAccounts } from "../../app/mcp-accounts.ts";
import { furtherModels, splitConfigured } from "../../app/models.ts";
import { findTooSmallModels } from "../../app/turns/offer-size.ts";
import { openRedis } from "../../app/redis.ts";
import { openSandboxBackend } from "../../app/sandbox.ts";
import { findMissingSearchKey } from "../../app/web.ts";
import type { Finding } from "../../chat/adapter.ts";
import { findClosedDiscord } from "../../config/access.ts";
import { type Config, listUnknownVariables } from "../../config/load.ts";
import { chooseModel, namedModel } from "../../config/model-choice.ts";
import { measureClockAheadMs } from "../../queue/redis/inspect.ts";
import { listUnreadable } from "../../queue/redis/unreadable.ts";
import { type ListSize, readSizes, type StorageSizes } from "../../queue/session/sizes.ts";
import { listAuditProblems } from "../../telemetry/audit/problems.ts";
import { checkDisk } from "../../sandbox/checks.ts";
import { checkClockSkew, httpClockAheadMs } from "./clock.ts";

/** Looks at one part of the installation. What it throws becomes an error line; it should end soon after the signal. */
export type Check = (setup: CommandContext, signal: AbortSignal) => Promise<Finding[]>;

/** In the order in which they are printed. */
export const checks: readonly { what: string; run: Check }[] = [
  { what: "node", run: async () => [checkNodeVersion(process.version)] },
  { what: "settings", run: checkSettings },
  { what: "model", run: checkModels },
  { what: "redis", run: checkRedis },
  { what: "sandbox", run: checkSandbox },
  { what: "disk", run: checkDataDisk },
  { what: "console", run: checkConsoleAddress },
  { what: "slack", run: checkSlackApp },
  { what: "discord", run: checkDiscordApp },
  { what: "mcp", run: checkMcp },
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

/** Less than the limit of a check, so that the line says what did not answer. */
const patienceMs = 8_000;
/** A Redis that somebody asks about is there; only at the start it may still be coming up. */
const redisPatienceMs = 4_000;

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

async function checkModels({ config }: CommandContext, signal: AbortSignal): Promise<Finding[]> {
  const { settings } = config;
  const first = chooseModel(config);
  if (!("model" in first)) {
    const text =
      "demo, which plays scripted tasks. For a real one put ANTHROPIC_API_KEY, OPENAI_API_KEY or MINIMAX_API_KEY into .env.";
    return [{ level: "warning", text }];
  }
  const name = `${first.provider}/${first.model}`;
  const names = new Set([name, ...furtherModels(settings)]);
  const soon = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  return await Promise.all([...names].map((each) => checkModel(config, each, soon)));
}

async function checkModel(config: Config, name: string, signal: AbortSignal): Promise<Finding> {
  const choice = namedModel(config, name);
  if (!("model" in choice)) return { level: "ok", text: "demo" };
  const configured = config.settings.models[name];
  const conflict = configured && findSettingsConflict(choice, splitConfigured(configured).settings);
  if (conflict) return { level: "error", text: conflict };
  const access = await checkAccess(choice, signal);
  switch (access.kind) {
    case "granted":
      return { level: "ok", text: `${name}: its service takes the key and has the model` };
    case "unknown": {
      const text = `${name}: its service tells nothing about models; \`heddle run "Say hello"\` shows whether it works`;
      return { level: "note", text };
    }
    case "refused":
    case "unreachable":
      return { level: "error", text: `${name}: ${access.message}` };
  }
}

async function checkRedis({ config }: CommandContext): Promise<Finding[]> {
  const server = await openRedis(
    config,
    { info() {}, warn() {} },
    {
      patienceMs: redisPatienceMs,
      adopts: false,
    },
  );
  try {
    const redis = server.connect();
    const warnings = [...server.warnings, ...(await listUnreadable(redis))];
    const auditProblems = await listAuditProblems(redis);
    return [
      { level: "ok", text: server.describe },
      describeSizes(await readSizes(redis)),
      ...auditProblems.map((text): Finding => ({ level: "error", text })),
      ...warnings.map((text): Finding => ({ level: "warning", text })),
      ...findConfigurationProblems(await readConfigurations(redis)).map(
        (text): Finding => ({ level: "warning", text }),
      ),
      ...(config.environment.REDIS_URL
        ? [checkClockSkew("Redis", await measureClockAheadMs(redis, Date.now))].filter(isTrouble)
        : []),
    ];
  } finally {
    await server.close();
  }
}

/** So much of its memory is left for what people write in the next hours. */
const fullShare = 0.8;

/** How full Redis is, and what of it is largest. */
export function describeSizes({ memory, sessions, journals, mailboxes }: StorageSizes): Finding {
  const mebibytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`;
  const limit = memory?.limit === undefined ? "no limit" : `of ${mebibytes(memory.limit)}`;
  const largest = (what: string, [list]: readonly ListSize[]) => {
    if (!list) return [];
    const size = list.bytes === undefined ? "" : `, ${mebibytes(list.bytes)}`;
    return [`largest ${what}: ${list.records} records${size} (${list.thread})`];
  };
  const parts = [
    ...(memory ? [`${mebibytes(memory.used)} used, ${limit}`] : []),
    `${sessions} ${sessions === 1 ? "session" : "sessions"}`,
    ...largest("journal", journals),
    ...largest("mailbox", mailboxes),
  ];
  const isNearlyFull = memory?.limit !== undefined && memory.used > fullShare * memory.limit;
  return isNearlyFull
    ? {
        level: "warning",
        text: `nearly full: ${parts.join("; ")}. Raise maxmemory, or lower sessions.expireDays.`,
      }
    : { level: "ok", text: parts.join("; ") };
}

const isTrouble = ({ level }: Finding) => level !== "ok";

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

async function checkConsoleAddress({ config }: CommandContext): Promise<Finding[]> {
  const { HEDDLE_HOST: host, HEDDLE_PORT: port, HEDDLE_CONSOLE_TOKEN: token } = config.environment;
  const others = await findConsoleOthers(config);
  const file = consoleTokenFile(config.dataDir);
  return [
    await checkConsole({
      ...{ host, port, token, instance: readInstance(config) },
      hasProvider: config.settings.console.openIdConnect !== undefined,
    }),
    ...(await checkSignIn(config)),
    ...(others === undefined
      ? []
      : [{ level: "note" as const, text: `it asks for the token in ${file}, because of ${others}` }]),
  ];
}

/** Shorter than a check may take, ms. */
const providerMs = 8_000;

/** The provider at which people sign in, where there is one. */
async function checkSignIn(config: Config): Promise<Finding[]> {
  const provider = readOpenId(config);
  if (!provider) return [];
  const { describeClient } = await import("../../adapters/console/server/sign-in-routes.ts");
  const { findProviderProblem } = await import("../../adapters/console/server/open-id.ts");
  const client = { ...describeClient(provider), stepMs: providerMs };
  const problem = await findProviderProblem(client);
  if (problem !== undefined) {
    const text = `nobody can sign in at ${client.issuer} (${problem}): correct console.openIdConnect.issuer, or look at the network`;
    return [{ level: "error", text }];
  }
  const text = `people sign in at ${client.issuer}, which has to know the redirect URI ${client.redirectUri} and, for signing out, ${client.signedOutUri}`;
  return [{ level: "ok", text }];
}

async function checkSlackApp({ config: { environment, settings } }: CommandContext): Promise<Finding[]> {
  const { SLACK_BOT_TOKEN, SLACK_APP_TOKEN, SLACK_CLIENT_ID, SLACK_API_URL } = environment;
  if (!SLACK_BOT_TOKEN && !SLACK_APP_TOKEN && !SLACK_CLIENT_ID) {
    const text = "not used: `heddle setup slack` connects it";
    return [{ level: "note", text }];
  }
  const [{ checkSlack }, { resolveTransport, resolveTeams }] = await Promise.all([
    import("../../adapters/slack/installation/check.ts"),
    import("../../adapters/slack/installation/resolve-teams.ts"),
  ]);
  return await checkSlack({
    teams: resolveTeams(environment, settings.slack.workspaces),
    events: resolveTransport(environment, settings.slack.http),
    ...(SLACK_API_URL && { apiUrl: SLACK_API_URL }),
    watched: listWatched(settings, "slack"),
  });
}

async function checkDiscordApp({ config: { environment, settings } }: CommandContext): Promise<Finding[]> {
  const { DISCORD_TOKEN, DISCORD_API_URL } = environment;
  if (!DISCORD_TOKEN) {
    return [{ level: "note", text: "not used: `heddle setup discord` connects it" }];
  }
  const { checkDiscord } = await import("../../adapters/discord/installation/check.ts");
  return await checkDiscord({
    token: DISCORD_TOKEN,
    ...(DISCORD_API_URL && { apiUrl: DISCORD_API_URL }),
    messageContent: settings.discord.messageContent,
    closed: findClosedDiscord(settings.access),
    watched: listWatched(settings, "discord"),
  });
}

async function checkMcp(setup: CommandContext, signal: AbortSignal): Promise<Finding[]> {
  const backend = openSandboxBackend(setup.config);
  const signsIn = setup.mcp.servers.some(
    (server) => server.state === "enabled" && server.endpoint.kind !== "stdio" && server.endpoint.signIn,
  );
  const persons = new Set(
    setup.mcp.servers.flatMap((server) =>
      server.state === "enabled" && takesPersons(server) ? [server.name] : [],
    ),
  );
  const redis = signsIn
    ? await openRedis(setup.config, { info() {}, warn() {} }, { patienceMs: redisPatienceMs, adopts: false })
    : undefined;
  const pool = await openMcpPool({
    config: setup.mcp,
    version: packageInfo.version,
    sandboxes: backend,
    patienceMs,
    ...(redis && { accounts: await openAccounts(setup.config, redis.connect()) }),
    onToken: (token) => setup.masker.add(token),
  });
  try {
    const [offered, { skills }] = await Promise.all([pool.offer(signal), loadSkills(setup)]);
    const large = await findTooSmallModels(listModelLimits(setup.config), {
      instructions: setup.config.settings.agent.instructions,
      skills,
      offered,
    });
    const warnings = large.map((text): Finding => ({ level: "warning", text }));
    const servers = pool.status();
    if (servers.length === 0)
      return [{ level: "note", text: "no servers: mcp.json would name them" }, ...warnings];
    const findings = servers.map(({ server, state, tools, problem }): Finding => {
      if (persons.has(server))
        return { level: "ok", text: `${server}: each person connects an account of their own` };
      const isFine = problem === undefined && (state === "ready" || state === "disabled");
      const words = problem?.replace(/\.$/, "");
      const why = words ? `. ${words.charAt(0).toUpperCase()}${words.slice(1)}` : "";
      const fix = isFine ? "" : `; correct its entry in ${setup.config.settings.mcp.config}, or disable it`;
      const text = `${server}: ${state}, ${tools.length} tools${why}${fix}`;
      return { level: isFine ? "ok" : "warning", text };
    });
    return [...findings, ...warnings];
  } finally {
    await pool.close();
    await backend.close();
    await redis?.close();
  }
}

async function checkSkills(setup: CommandContext): Promise<Finding[]> {
  const { skills: loaded, problems } = await loadSkills(setup);
  return [
    { level: "ok", text: loaded.map(({ name }) => name).join(", ") || "none" },
    ...problems.map(({ path, reason }): Finding => ({ level: "warning", text: `${path}: ${reason}` })),
  ];
}

/** What is known of the configured models without asking their services. */
function listModelLimits(config: Config) {
  const first = chooseModel(config);
  const names = "model" in first ? [`${first.provider}/${first.model}`] : [];
  return [...new Set([...names, ...furtherModels(config.settings)])].map((id) => {
    const choice = namedModel(config, id);
    const isOpenAI = "model" in choice && resolveProtocol(choice) !== "anthropic";
    const tools = isOpenAI ? findToolLimit(choice.baseUrl) : undefined;
    const limits = { ...lookUpModel(id), ...config.settings.models[id], ...(tools && { tools }) };
    return { id, limits };
  });
}

function loadSkills({ config: { settings } }: CommandContext): Promise<SkillSet> {
  const { folders = [shippedSkills], pins } = settings.skills;
  return createSkillLibrary({ folders, pins }).current();
}

/** Against the platforms in use; the times of messages and stops are theirs. */
async function checkClock(
  { config: { environment } }: CommandContext,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { SLACK_BOT_TOKEN, SLACK_CLIENT_ID, SLACK_API_URL, DISCORD_TOKEN, DISCORD_API_URL } = environment;
  const soon = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  const servers = [
    ...(SLACK_BOT_TOKEN || SLACK_CLIENT_ID ? [["Slack", SLACK_API_URL ?? "https://slack.com/api/"]] : []),
    ...(DISCORD_TOKEN ? [["Discord", DISCORD_API_URL ?? "https://discord.com/api"]] : []),
  ];
  if (servers.length === 0) return [{ level: "note", text: "no chat platform to compare it with" }];
  return await Promise.all(
    servers.map(async ([name = "", url = ""]): Promise<Finding> => {
      try {
        return checkClockSkew(name, await httpClockAheadMs(url, soon));
      } catch (error) {
        const why = readNetworkCode(error) ?? (soon.aborted ? "no answer in time" : String(error));
        return { level: "note", text: `could not be compared with that of ${name} (${why})` };
      }
    }),
  );
}
