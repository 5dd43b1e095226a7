import { createConsoleAdapter } from "../adapters/console/adapter.ts";
import { findUnsafeSettings } from "../adapters/console/server/auth-guard.ts";
import type { ConsoleStatus } from "../adapters/console/services.ts";
import { type ChatAdapter, PlatformRefused } from "../chat/adapter.ts";
import { ConfigError } from "../config/config-error.ts";
import type { Config } from "../config/load.ts";
import { createAccessTokens } from "../operations/people/access-tokens.ts";
import { createWorkspaceFiles } from "../operations/threads/files.ts";
import { openOperations } from "../operations/open.ts";
import { describeSettings } from "./configuration/describe-settings.ts";
import { reportUnreadable } from "../queue/redis/unreadable.ts";
import { whileAnswering } from "../queue/redis/while-answering.ts";
import { createDowntime } from "../queue/session/gateway-last-seen.ts";
import { hasWorker } from "../queue/turns/worker-presence.ts";
import { listAuditProblems } from "../telemetry/audit/problems.ts";
import { auditFolder, startAuditArchiving } from "../telemetry/telemetry.ts";
import type { AppContext } from "./context.ts";
import type { Running } from "./process/running.ts";
import { listTriggerBudgets } from "./channel-watch.ts";
import type { ConsoleToken } from "./console-token.ts";
import { openConfiguredHooks } from "./hooks.ts";
import { readOpenId } from "./open-id.ts";
import { readInstance } from "./process/instance.ts";
import { openAdapters } from "./platforms.ts";
import { readSandboxLimits } from "./sandbox.ts";
import { findReasonsOfSilence } from "./setup/find-reasons.ts";
import { type HearingOptions, openHearing } from "./setup/hearing.ts";
import { openConsoleSetup } from "./setup/console-setup.ts";
import { openGithubAppSetup } from "./setup/github-app.ts";
import { type StartedAdapters, startAdapters } from "./start-adapters.ts";

/** Something that the operator has to put right before Heddle can start. */
class StartError extends Error {
  override readonly name = "StartError";
}

/** Adapters throw a plain Error with a sentence for the operator; anything else is a defect and keeps its stack. */
function toStartError(error: unknown): unknown {
  if (error instanceof PlatformRefused) return new ConfigError(error.message, { cause: error });
  const isSentence = error instanceof Error && error.name === "Error";
  return isSentence ? new StartError(error.message, { cause: error }) : error;
}

/** Records that this gateway has yet to look for what it missed: workers wait for it with interrupted turns. */
export async function announceCatchUp({ redis, platforms }: AppContext): Promise<void> {
  const downtime = createDowntime(redis, Date.now);
  for (const platform of platforms) await downtime.markAway(platform);
}

function readIdentityHeader({ identityHeader: name, people }: Config["settings"]["console"]) {
  return name === undefined ? undefined : { name, people };
}

/** What keeps this gateway from serving. No details: whoever asks has no token. */
async function findUnready(
  { config, redis }: AppContext,
  adapters: readonly ChatAdapter[],
  started: StartedAdapters | undefined,
): Promise<string | undefined> {
  // While the first attempts are under way, none is known to be heard.
  const [unreached] = started ? started.unreached() : adapters.map(({ platform }) => platform);
  if (unreached !== undefined) return `Nothing is heard from ${unreached} yet: Heddle keeps trying.`;
  const deaf = adapters.find((adapter) => adapter.problem?.() !== undefined);
  if (deaf) return `Nothing is heard from ${deaf.platform} until an operator acts: read the log.`;
  const { auditRequired } = config.settings.telemetry;
  const isBroken = auditRequired && (await listAuditProblems(redis)).length > 0;
  return isBroken ? "The audit log cannot be written: run heddle doctor." : undefined;
}

/** The set-up of the console, which also tells whether the platforms that are configured by now are heard. */
function openSetup(
  { config, configuration, masker, telemetry, log }: AppContext,
  {
    adapters,
    isWhole,
    ...hearing
  }: { adapters: readonly ChatAdapter[]; isWhole: boolean } & Pick<HearingOptions, "isConnected" | "heard">,
) {
  const mask = (text: string) => masker.mask(text);
  return openConsoleSetup({
    ...{ env: process.env, cwd: process.cwd(), isWhole, mask, audit: telemetry.audit },
    hearing: openHearing({
      ...hearing,
      platforms: adapters.map(({ platform }) => platform),
      findReasons: (platform) =>
        findReasonsOfSilence(platform, { ...config, settings: configuration.current().settings }),
      ...{ mask, now: Date.now },
      onProblem: (problem, error) => log.warn({ err: error }, problem),
    }),
  });
}

/**
 * Connects to the chat platforms and serves the console.
 *
 * @param options.isWhole whether this process is the worker too, so that what it reads is what all of this Heddle reads
 */
export async function startGateway(
  context: AppContext,
  model: () => { id: string },
  { token, byDefault }: ConsoleToken,
  { isWhole }: { isWhole: boolean },
): Promise<Running & { url: string; unreached: string[] }> {
  const { config, configuration, log, redis, server, intake } = context;
  const { environment } = config;
  const openId = readOpenId(config);
  const unsafe = findUnsafeSettings(environment.HEDDLE_HOST, token, openId !== undefined);
  if (unsafe) throw new ConfigError(unsafe);
  const adapters = await openAdapters(context);
  const files = createWorkspaceFiles(context.sandbox);
  const operations = openOperations({
    ...{ redis, server, queue: context.queue, skills: context.skills },
    budgets: configuration.section("budgets"),
    triggerBudgets: () => listTriggerBudgets(configuration.current().settings),
    approvers: () => configuration.current().settings.access.approve,
    limits: readSandboxLimits(config.settings.sandbox),
    settings: () => describeSettings(configuration),
    auditFolder: auditFolder(config),
    files,
    audit: context.telemetry.audit,
    mask: (text) => context.masker.mask(text),
    now: Date.now,
    onError: (error) => log.warn({ err: error }, "the console could not follow what happens"),
  });
  let started: StartedAdapters | undefined;
  const setup = openSetup(context, {
    ...{ isWhole, adapters, heard: operations.heard },
    isConnected: (platform) => started !== undefined && !started.unreached().includes(platform),
  });
  const closing = new AbortController();
  const githubApp = openGithubAppSetup({
    ...{ config, redis, masker: context.masker, audit: context.telemetry.audit, now: Date.now },
    signal: closing.signal,
  });
  const local = createConsoleAdapter({
    redis,
    host: environment.HEDDLE_HOST,
    port: environment.HEDDLE_PORT,
    ...(token !== undefined && { token }),
    ...(byDefault && { loginCode: byDefault.loginCode }),
    proxies: config.settings.console.proxies,
    identity: readIdentityHeader(config.settings.console),
    openId,
    onSignIn: (by) => context.telemetry.audit({ action: "signed-in", by }),
    tokens: createAccessTokens(redis, Date.now),
    mayUse: context.access.mayUse,
    files,
    operations,
    setup,
    githubApp,
    status: async (): Promise<ConsoleStatus> => ({
      model: model().id,
      demo: model().id === "demo",
      sandbox: await context.sandbox.probe(),
      redis: server.kind,
      adapters: adapters.map(({ platform }) => platform),
    }),
    instance: readInstance(config),
    async hasWorker() {
      // Probes that wait for a Redis that is away would all ask it when it is back.
      if (redis.status !== "ready" || !server.isAnswering()) throw new Error("Redis does not answer.");
      return hasWorker(redis);
    },
    findUnready: () => findUnready(context, adapters, started),
    onUnreadable: (place, why) => reportUnreadable(redis, place, why),
    confirm: (work) => whileAnswering(work, { redis, isAnswering: server.isAnswering }),
    ...(context.telemetry.metrics && { metrics: context.telemetry.metrics }),
    log,
  });
  adapters.push(local);

  const hooks = await openConfiguredHooks(context);
  const endKeeping = startAuditArchiving(redis, config, log);
  const close = async () => {
    endKeeping();
    setup.close();
    closing.abort();
    await hooks?.close();
    await started?.close();
    operations.close();
  };
  try {
    started = await startAdapters(adapters, { intake, log });
  } catch (error) {
    await close();
    throw toStartError(error);
  }
  return { url: local.url, unreached: started.unreached(), close };
}
