import { flushCompileCache } from "node:module";
import { hostname } from "node:os";
import { createAuthGuard, findUnsafeSettings } from "../adapters/console/server/auth-guard.ts";
import { createAddressList } from "../adapters/console/server/client-address.ts";
import { serveMetrics } from "../adapters/console/server/metrics.ts";
import { closeAll } from "../app/process/close.ts";
import { type AppContext, createAppContext } from "../app/context.ts";
import type { CommandContext } from "../app/command-context.ts";
import type { Running } from "../app/process/running.ts";
import { type ConsoleToken, openConsoleToken } from "../app/console-token.ts";
import { announceCatchUp, startGateway } from "../app/gateway.ts";
import type { HostParts } from "../app/host.ts";
import { readInstance } from "../app/process/instance.ts";
import { followChanges } from "../app/configuration/follow-changes.ts";
import { listFiles } from "../app/configuration/load.ts";
import { watchFiles } from "../app/configuration/watch-files.ts";
import type { Models } from "../app/models/models.ts";
import { findStartWarnings } from "../app/process/start-warnings.ts";
import { reportServing } from "../app/process/supervised.ts";
import { prepareTurns, startWorker } from "../app/worker.ts";
import { calls } from "../app/process/package-info.ts";
import { ConfigError } from "../config/config-error.ts";
import { startHeartbeat, startPresence } from "../queue/turns/worker-presence.ts";
import type { Probe } from "../sandbox/sandbox.ts";
import type { Role } from "./roles.ts";

/** What has begun to open before the rest is loaded. */
export interface Opened {
  host: HostParts;
  /** Rejects with what `openModels` throws. */
  models: Promise<() => Models>;
}

/** What has been started and is to be closed. */
interface Started extends Opened {
  context?: AppContext;
  parts: Set<Part>;
}

interface Part extends Running {
  /** What its end may take time for, for people who wait for it. */
  ends: string;
}

/** Runs until SIGTERM or SIGINT; running turns are handed over before it ends the process. */
export async function serve(role: Role, setup: CommandContext, opened: Opened): Promise<never> {
  const { log } = setup;
  const started: Started = { ...opened, parts: new Set() };
  // Before anything takes turns: what has begun is handed over, also where the rest does not come up.
  const signalled = waitForSignal((again) => {
    const ends = [...started.parts].map((part) => part.ends);
    const pending = ends.join(" and ") || "the connections to Redis to close";
    log.warn(`${again} again: still waiting for ${pending}. Nothing is cut short; this ends by itself.`);
  });
  let signal: string;
  try {
    signal = await Promise.race([signalled, startAll(role, setup, started).then(() => signalled)]);
  } catch (error) {
    await endAll(started);
    throw error;
  }
  log.info(`${signal}: handing over running turns and stopping.`);
  await endAll(started);
  // What a platform was asked and has not answered must not keep the process.
  process.exit(0);
}

/** Resolves with the first signal that asks for the end; all later ones are only told of. */
function waitForSignal(onFurther: (signal: string) => void): Promise<string> {
  return new Promise((resolve) => {
    let asked = false;
    const hear = (signal: string) => {
      if (asked) onFurther(signal);
      asked = true;
      resolve(signal);
    };
    process.on("SIGTERM", hear).on("SIGINT", hear);
  });
}

async function startAll(role: Role, setup: CommandContext, started: Started): Promise<void> {
  const { HEDDLE_METRICS_PORT: metricsPort } = setup.config.environment;
  const { host } = started;
  // First: what a service says of its key is told however slow Redis is.
  const models = await started.models;
  const context = await createAppContext(setup, {
    measures: role !== "worker" || metricsPort !== undefined,
    host,
  });
  started.context = context;
  const add = (ends: string, running: Running) => started.parts.add({ ...running, ends });
  const serves = role !== "worker" || metricsPort !== undefined;
  const consoleToken = serves ? await openConsoleToken(setup.config) : {};
  let url = "";
  let unreached: string[] = [];
  if (role !== "worker") await announceCatchUp(context);
  // At once: while one waits for Redis, the other may wait for a platform.
  await allEnded([
    role !== "gateway" &&
      startWorker(context, models).then((worker) => add("running turns to be handed over", worker)),
    role !== "worker" &&
      startGateway(context, () => models().model, consoleToken, { isWhole: role === "all" }).then(
        (gateway) => {
          add("the connections to chat platforms and console to close", gateway);
          ({ url, unreached } = gateway);
        },
      ),
    role === "worker" &&
      metricsPort !== undefined &&
      startMetrics(context, metricsPort, consoleToken).then((metrics) =>
        add("the metrics to close", metrics),
      ),
  ]);
  const onError = (error: unknown) => context.onError(error, "the heartbeat was not written");
  add(
    "the heartbeat to end",
    await startHeartbeat({ redis: context.redis, instance: readInstance(setup.config), onError }),
  );
  add("the files of the configuration to be let go", await followConfiguration(context, role));
  const probe = await context.sandbox.probe();
  process.stdout.write(banner(context, models().model.id, { url, unreached, consoleToken, probe }));
  reportServing();
  // Node would do so when the process ends: in a new installation that takes as long as the rest.
  setImmediate(flushCompileCache);
  const ending = new AbortController();
  add("the checks of models to end", { close: async () => ending.abort() });
  // In the background: what it finds is for the operator, and a service that is down may be up again at the first message.
  void findStartWarnings(setup.config, ending.signal).then((found) => {
    for (const text of found) setup.log.warn(text);
  });
  if (role !== "gateway")
    void prepareTurns(context, models()).catch((error: unknown) =>
      context.onError(error, "what turns need could not be loaded"),
    );
}

/** Waits for all, so that what one has opened can be closed where another fails. @throws the first failure */
async function allEnded(starting: readonly (Promise<unknown> | false)[]): Promise<void> {
  for (const result of await Promise.allSettled(starting.filter((part) => part !== false)))
    if (result.status === "rejected") throw result.reason;
}

const roleNames: Record<Role, string> = { all: "gateway and worker", gateway: "gateway", worker: "worker" };

/** Takes changes of the configuration's files, and looks at them when a signal asks for it. */
async function followConfiguration(
  { configuration, config, mcp, hash, log, redis, server, masker, ...context }: AppContext,
  role: Role,
): Promise<Running> {
  const onError = (error: unknown) => context.onError(error, "the configuration could not be told of");
  const presence = await startPresence({
    ...{ redis, onError, list: "processes" },
    describe() {
      const { problem, ...state } = configuration.state();
      const told = problem === undefined ? {} : { problem: masker.mask(problem) };
      return { v: 1, host: hostname(), pid: process.pid, role: roleNames[role], ...state, ...told };
    },
  });
  configuration.subscribe(() => void presence.tell().catch(onError));
  const following = await followChanges({ redis, configuration, subscriber: server.connect(), onError });
  const reload = () => void configuration.reload();
  const end = watchFiles({
    files: listFiles({ config, mcp, hash }, process.cwd()),
    onChange: reload,
    onProblem: (problem, error) => log.warn({ err: error }, problem),
  });
  // A terminal that is closed sends the same signal, and ends what it has started.
  const hears = !process.stdin.isTTY;
  if (hears) process.on("SIGHUP", reload);
  // What was saved while this process started came before anybody looked.
  reload();
  return {
    async close() {
      end();
      process.off("SIGHUP", reload);
      await Promise.all([presence.close(), following.close()]);
    },
  };
}

/** `/metrics` of a worker, which has no console. @throws ConfigError */
async function startMetrics(
  { config, telemetry, log }: AppContext,
  port: number,
  { token }: ConsoleToken,
): Promise<Running> {
  const { metrics } = telemetry;
  if (!metrics) throw new Error("There are no metrics to serve.");
  const { HEDDLE_HOST: host } = config.environment;
  const unsafe = findUnsafeSettings(host, token);
  if (unsafe) throw new ConfigError(unsafe);
  const proxies = createAddressList(config.settings.console.proxies);
  const onError = (error: unknown) => log.error({ err: error }, "the metrics could not be read");
  try {
    const served = await serveMetrics({
      page: metrics,
      authGuard: createAuthGuard({ host, token, proxies }),
      proxies,
      host,
      port,
      onError,
    });
    log.info({ host, port: served.port }, "metrics are served");
    return served;
  } catch (error) {
    throw new ConfigError(
      `HEDDLE_METRICS_PORT ${port} of ${host} cannot be listened on (${error instanceof Error ? error.message : String(error)}): choose a free one.`,
    );
  }
}

/** Takes each part off the list when it has ended. */
async function endAll({ host, context, parts }: Started): Promise<void> {
  const ending = [...parts].map((part) => ({
    ...part,
    close: () => part.close().then(() => void parts.delete(part)),
  }));
  if (context) await closeAll(ending, context);
  else await host.close();
}

function banner(
  context: AppContext,
  model: string,
  {
    url,
    unreached,
    consoleToken: { byDefault },
    probe,
  }: { url: string; unreached: readonly string[]; consoleToken: ConsoleToken; probe: Probe },
): string {
  const { config } = context;
  const stateOf = (platform: string) =>
    unreached.includes(platform) ? "not reached yet: Heddle keeps trying" : "connected";
  const { SLACK_BOT_TOKEN, SLACK_CLIENT_ID, DISCORD_TOKEN } = config.environment;
  const lines = [
    [
      "model",
      model === "demo"
        ? "demo, which plays scripted tasks. For a real one put ANTHROPIC_API_KEY, OPENAI_API_KEY or MINIMAX_API_KEY into .env."
        : model,
    ],
    ...describeBackends(context, probe),
    ...(url && (SLACK_BOT_TOKEN ?? SLACK_CLIENT_ID) ? [["slack", stateOf("slack")]] : []),
    ...(url && DISCORD_TOKEN ? [["discord", stateOf("discord")]] : []),
    ...(url ? describeConsole(url, byDefault) : []),
    ...(model === "demo" || (url && !SLACK_BOT_TOKEN && !SLACK_CLIENT_ID && !DISCORD_TOKEN)
      ? [["setup", `\`${calls.command} setup\` connects a model, Slack and Discord, step by step`]]
      : []),
  ];
  return `Heddle is ready.\n${lines.map(([name = "", text = ""]) => `  ${name.padEnd(8)} ${text}\n`).join("")}`;
}

/**
 * Redis and sandbox. Where the log has just told them as JSON they are left out, because journals and containers put
 * both streams into one place; what is wrong with the sandbox is told by both.
 */
function describeBackends({ server, log }: AppContext, { ok, summary, problems }: Probe): string[][] {
  if (!process.stderr.isTTY && log.isLevelEnabled("info") && ok && problems.length === 0) return [];
  return [
    ["redis", server.describe],
    ["sandbox", ok ? summary : "none: the agent has no shell and no files"],
    ...problems.map(({ what, fix }) => ["", `${what} ${fix}`]),
  ];
}

/** The link signs in once; it is printed and never logged. */
function describeConsole(url: string, byDefault: ConsoleToken["byDefault"]): string[][] {
  if (!byDefault) return [["console", url]];
  const { loginCode, file, others } = byDefault;
  return [
    ["console", `${url}/#token=${loginCode}`],
    ["", `This link signs in once, within 15 minutes; after that the token in ${file} does.`],
    ["", `It is asked for because ${others} could use the console otherwise.`],
  ];
}
