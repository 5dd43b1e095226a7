import type { McpTimeouts } from "../agent/mcp/config.ts";
import { openMcpPool } from "../agent/mcp/pool.ts";
import type { Settings } from "../config/schema.ts";
import { checkPermission } from "../intake/recheck-permission.ts";
import { createWorkerStatus } from "../operations/installation/worker-status.ts";
import { daySeconds } from "../queue/redis/keys.ts";
import { createInputStore } from "../queue/stores/mcp-inputs.ts";
import { openScheduleClock, startScheduleTicks } from "../queue/schedules/clock.ts";
import { createFiring } from "../queue/schedules/firing.ts";
import { createSlots } from "../queue/turns/slots.ts";
import { startTurnWorker } from "../queue/turns/turn-worker.ts";
import { startPresence } from "../queue/turns/worker-presence.ts";
import { explainNoConnecting } from "./mcp/account-connecting.ts";
import { channelSettings } from "./channel-settings.ts";
import { openAccounts } from "./mcp/mcp-accounts.ts";
import type { AppContext } from "./context.ts";
import type { Running } from "./process/running.ts";
import { createConfiguredSkills } from "./host.ts";
import type { Models } from "./models/models.ts";
import { packageInfo } from "./process/package-info.ts";
import { createServerPools, type ServerPools } from "./mcp/server-pools.ts";
import { readFence } from "./sandbox.ts";
import { startHousekeeping } from "./housekeeping.ts";
import { openConfiguredRunner } from "./turns/configured-runner.ts";
import { openConfiguredPreviews } from "./previews.ts";
import { createTurnEngine } from "./turns/turn-engine.ts";
import { createUndoDeps } from "./undo.ts";
import { validateReferences } from "./validate-references.ts";

const noSandboxBanner =
  "⚠️ **No sandbox**: commands run as the person who started Heddle, with all their files.";

/** Takes turns from the queue and runs the agent. */
export async function startWorker(context: AppContext, models: () => Models): Promise<Running> {
  const { config, configuration, log, masker, redis, server, queue, output, surface, sandbox } = context;
  const { onError } = context;
  const { observe, audit: note } = context.telemetry;
  const { queue: queueSettings, sessions } = config.settings;
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);

  await checkSkills(context);
  const pools = await openServerPools(context, onError);
  const pool = await configuration.derive({
    of: ({ config: { settings }, mcp }) => [mcp, settings.mcp],
    make: ({ config: { settings }, mcp }) => pools.open(mcp, readTimeouts(settings)),
    replaced: (_old, next) => pools.replace(next),
  });
  const clock = openScheduleClock(redis);
  const previews = await openConfiguredPreviews(context);
  const runner = openConfiguredRunner(context, { models, pool, clock, previews, onProblem });

  const housekeeping = startHousekeeping(context);
  const engine = await createTurnEngine({
    ...{ redis, output, surface, observe, onError },
    subscriber: server.connect(),
    wake: queue.wake,
    runner,
    catchUpMs: queueSettings.catchUpSeconds * 1_000,
    processes: sandbox.backend.processes,
    undo: createUndoDeps(context, onError),
    confirmMs: (queueSettings.lockSeconds * 1_000) / 3,
    fence: readFence(queueSettings),
    expireSeconds: sessions.expireDays * daySeconds,
    verbosity: (thread) => channelSettings(configuration.current().settings, thread).verbosity,
    ...(sandbox.backend.name === "none" && { banner: noSandboxBanner }),
    asksRating: config.settings.feedback,
    offersUndo: config.settings.undo.checkpoints > 0,
    deciders: context.access.deciders,
    mayMention: (thread, person) => !context.access.isListedBot(thread, person),
    mask: (text) => masker.mask(text),
    onProblem: (problem, error, where) => log.warn({ err: error, ...where }, problem),
  });
  const workerStatus = createWorkerStatus({
    concurrency: queueSettings.concurrency,
    model: () => models().model.id,
    modelFailures: () => models().failures.list(),
    sandbox,
    mcp: { status: () => pool().status() },
    mask: (text) => masker.mask(text),
    now: Date.now,
  });
  const worker = await startTurnWorker({
    redis: server.connect({ maxRetriesPerRequest: null }),
    queue,
    runSession: workerStatus.track(engine.runSession),
    endUnheldThread: engine.endUnheldThread,
    slots: createSlots(redis, queueSettings, onError),
    concurrency: queueSettings.concurrency,
    lockMs: queueSettings.lockSeconds * 1_000,
    sweepMs: queueSettings.sweepSeconds * 1_000,
    onProblem: (problem) => log.warn(problem),
    onError,
  });
  const ticks = await startScheduleTicks({
    redis: server.connect({ maxRetriesPerRequest: null }),
    fire: createFiring({
      redis,
      queue,
      output,
      surface,
      mayAsk: (thread, author) => checkPermission(thread, author, context),
      audit: note,
      now: Date.now,
      onProblem,
    }),
    lockMs: queueSettings.lockSeconds * 1_000,
    onError,
  });
  const presence = await startPresence({ redis, describe: () => workerStatus.describe(), onError });
  return {
    async close() {
      await Promise.all([worker.close(), ticks.close()]);
      housekeeping.stop();
      await Promise.all([presence.close(), engine.close(), pools.close(), clock.close(), previews?.close()]);
    },
    abandon: () => pools.close(),
  };
}

/** Says what is wrong with skills, and refuses settings that name one that does not exist. @throws ConfigError */
async function checkSkills({ configuration, log, skills }: AppContext): Promise<void> {
  for (const { path, reason } of (await skills.current()).problems) log.warn(`Skill ${path}: ${reason}`);
  await configuration.derive({
    of: ({ config: { settings } }) => [settings.skills, settings.tools.rules, settings.channels],
    async make({ config: { settings } }) {
      const { skills: found } = await createConfiguredSkills(settings).current();
      validateReferences(
        settings,
        found.map(({ name }) => name),
      );
    },
  });
}

/**
 * Loads what only turns need, so that neither the start nor the first turn waits for it, and says which models prompt and
 * tools are too large for; what MCP servers offer is known when a turn needs them. To be called when the process serves.
 */
export async function prepareTurns({ config, log, skills }: AppContext, { model }: Models): Promise<void> {
  await import("./turns/run-agent.ts");
  const { findTooSmallModels } = await import("./turns/offer-size.ts");
  const { instructions } = config.settings.agent;
  const found = await findTooSmallModels([model], { instructions, skills: (await skills.current()).skills });
  for (const text of found) log.warn(text);
}

async function openServerPools(
  { config, masker, log, redis, sandbox, prompts }: AppContext,
  onError: (error: unknown) => void,
): Promise<ServerPools> {
  const accounts = await openAccounts(config, redis);
  return createServerPools({
    openPool: (mcp, timeouts) =>
      openMcpPool({
        config: mcp,
        version: packageInfo.version,
        accounts,
        inputs: createInputStore(redis),
        connectProblem: () => explainNoConnecting(config),
        onPrompts: (offered) => void prompts.publish(offered).catch(onError),
        onToken: (token) => masker.add(token),
        sandboxes: sandbox.backend,
        timeouts,
        log: (entry) => log[entry.level](`MCP server ${entry.server}: ${entry.message}`),
      }),
    onError,
  });
}

function readTimeouts({ mcp }: Settings): McpTimeouts {
  return {
    connectMs: mcp.connectSeconds * 1_000,
    executeMs: mcp.executeSeconds * 1_000,
    readMs: mcp.readSeconds * 1_000,
  };
}
