import type { McpTimeouts } from "../agent/mcp/config.ts";
import { openMcpPool } from "../agent/mcp/pool.ts";
import type { ThreadId } from "../chat/threads.ts";
import type { Config } from "../config/load.ts";
import type { Settings } from "../config/schema.ts";
import { checkPermission } from "../intake/recheck-permission.ts";
import { createMessageExtras } from "../message-extras/message-extras.ts";
import { readNames } from "../operations/names.ts";
import { createWorkerStatus } from "../operations/worker-status.ts";
import { createLearntWindowStore } from "../queue/stores/learnt-windows.ts";
import { isOutOfMemory, OutOfMemory, outOfMemory } from "../queue/redis/out-of-memory.ts";
import { ConnectionSilent } from "../queue/redis/silence.ts";
import type { Previews } from "../previews/previews.ts";
import { openScheduleClock, type ScheduleClock, startScheduleTicks } from "../queue/schedules/clock.ts";
import { createFiring } from "../queue/schedules/firing.ts";
import { createThreadSchedules, type ScheduleLimits } from "../queue/schedules/schedules.ts";
import { createJournalReader } from "../queue/session/journal.ts";
import { createRedisNotes } from "../queue/session/notes.ts";
import type { TurnRunner } from "../queue/turns/contracts.ts";
import { createSlots } from "../queue/turns/slots.ts";
import { startTurnWorker } from "../queue/turns/turn-worker.ts";
import { startPresence } from "../queue/turns/worker-presence.ts";
import { createAgentRunner } from "./agent-runner.ts";
import type { TurnRunnerOptions } from "./turn-runner-options.ts";
import { channelSettings } from "./channel-settings.ts";
import { createLivePolicy, createPermit } from "./configuration/permit.ts";
import { openAccounts } from "./mcp-accounts.ts";
import { type AppContext, createConfiguredSkills, type Running } from "./context.ts";
import { shareLearntWindows } from "./learnt-windows.ts";
import { findModelAddress, type Models } from "./models.ts";
import { createServerPools, type HeldPool, type ServerPools } from "./server-pools.ts";
import { readCleanPolicy, readFence } from "./sandbox.ts";
import { findTooSmallModels } from "./offer-size.ts";
import { openForgetter } from "./forget-threads.ts";
import { createPlaceNames } from "./place-names.ts";
import { openConfiguredPreviews } from "./previews.ts";
import { listDeleted } from "../queue/session/manage-session.ts";
import { createTurnEngine } from "./turn-engine.ts";
import { createUndoDeps } from "./undo.ts";
import { validateReferences } from "./validate-references.ts";
import { openWeb } from "./web.ts";

const noSandboxBanner =
  "⚠️ **No sandbox**: commands run as the person who started Heddle, with all their files.";

/** Takes turns from the queue and runs the agent. */
export async function startWorker(context: AppContext, models: () => Models): Promise<Running> {
  const { config, configuration, log, masker, redis, server, queue, output, surface, sandbox } = context;
  const { observe, audit: note } = context.telemetry;
  const { queue: queueSettings, sessions } = config.settings;
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const onError = (error: unknown) => {
    const problem =
      isOutOfMemory(error) || error instanceof OutOfMemory ? outOfMemory : "the worker met an error";
    // That Redis is away or silent is in the log once, and every connection fails of it, many times a second.
    const isKnown =
      redis.status !== "ready" || error instanceof ConnectionSilent || isLookingForPrimary(error);
    log[isKnown ? "debug" : "error"]({ err: error }, problem);
  };

  await checkSkills(context);
  void warnOfSmallModels(context, models()).catch(onError);
  const pools = await openServerPools(context, onError);
  const pool = await configuration.derive({
    of: ({ config: { settings }, mcp }) => [mcp, settings.mcp],
    make: ({ config: { settings }, mcp }) => pools.open(mcp, readTimeouts(settings)),
    replaced: pools.replace,
  });
  const clock = openScheduleClock(redis);
  const previews = await openConfiguredPreviews(context);
  const runner = openAgentRunner(context, { models, pool, clock, previews, onProblem });

  const cleaning = setInterval(() => void cleanWorkspaces(context), cleanEveryMs).unref();
  const removeDeleted = createDeletedRemover(context);
  void removeDeleted();
  const removing = setInterval(() => void removeDeleted(), removeEveryMs).unref();
  const forget = openForgetter(context);
  const forgetting = setInterval(() => void forget(), removeEveryMs).unref();
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
    expireSeconds: sessions.expireDays * 86_400,
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
    sandbox,
    mcp: { status: () => pool().status() },
    mask: (text) => masker.mask(text),
    now: Date.now,
  });
  const worker = await startTurnWorker({
    redis: server.connect({ maxRetriesPerRequest: null }),
    queue,
    runSession: workerStatus.track(engine.runSession),
    stopWaiting: engine.stopWaiting,
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
      clearInterval(cleaning);
      clearInterval(removing);
      clearInterval(forgetting);
      await Promise.all([presence.close(), engine.close(), pools.close(), clock.close(), previews?.close()]);
    },
    abandon: () => pools.close(),
  };
}

/** What ioredis says at each reconnect, also where the only sentinel answers the next moment. */
function isLookingForPrimary(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("All sentinels are unreachable. Retrying");
}

const cleanEveryMs = 6 * 3_600_000;

async function cleanWorkspaces({ config, sandbox, log }: AppContext): Promise<void> {
  if (!sandbox.probe.ok) return;
  try {
    const report = await (await sandbox.backend.workspaces()).clean(readCleanPolicy(config));
    const { archived = [], failed = [] } = report ?? {};
    if (archived.length + failed.length > 0) log.info({ archived, failed }, "idle workspaces were archived");
  } catch (error) {
    log.warn({ err: error }, "idle workspaces could not be archived");
  }
}

const removeEveryMs = 60_000;

/** Removes from this host the files of threads that were deleted, by whichever process. */
function createDeletedRemover({ redis, sandbox, log }: AppContext): () => Promise<void> {
  const done = new Map<string, number>();
  return async () => {
    if (!sandbox.probe.ok) return;
    try {
      const deleted = await listDeleted(redis);
      for (const { thread, at } of deleted) {
        if (done.get(thread) === at) continue;
        if (await (await sandbox.backend.workspaces()).remove(thread, at)) done.set(thread, at);
      }
      const listed = new Set(deleted.map(({ thread }) => thread));
      for (const thread of done.keys()) if (!listed.has(thread)) done.delete(thread);
    } catch (error) {
      log.warn({ err: error }, "the files of deleted threads could not be removed");
    }
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

/** Says which models prompt and tools are too large for; what MCP servers offer is known when a turn needs them. */
async function warnOfSmallModels({ config, log, skills }: AppContext, { model }: Models): Promise<void> {
  const { instructions } = config.settings.agent;
  const found = await findTooSmallModels([model], { instructions, skills: (await skills.current()).skills });
  for (const text of found) log.warn(text);
}

async function openServerPools(
  { config, masker, log, redis, sandbox }: AppContext,
  onError: (error: unknown) => void,
): Promise<ServerPools> {
  const accounts = await openAccounts(config, redis);
  return createServerPools({
    openPool: (mcp, timeouts) =>
      openMcpPool({
        config: mcp,
        accounts,
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

interface AgentRunnerParts {
  models(): Models;
  pool(): HeldPool;
  clock: ScheduleClock;
  previews: Previews | undefined;
  onProblem(problem: string, error: unknown): void;
}

/** The agent as the settings want it at the time when a turn begins. */
function openAgentRunner(context: AppContext, parts: AgentRunnerParts): TurnRunner {
  const { configuration, redis } = context;
  const policy = createLivePolicy(configuration);
  const permit = createPermit(context);
  const describePlace = createPlaceNames({
    readNames: (ids) => readNames(redis, ids),
    now: Date.now,
    onProblem: parts.onProblem,
  });
  let known: { config: Config; options: TurnRunnerOptions } | undefined;
  return createAgentRunner(() => {
    const config = configuration.current();
    if (known?.config === config) return known.options;
    const settled = settleOptions(context, config, parts);
    const options = { ...settled, policy, permit, situation: situationOf(config, describePlace) };
    known = { config, options };
    return options;
  });
}

function situationOf({ settings }: Config, describePlace: (thread: ThreadId) => Promise<string>) {
  return async (thread: ThreadId) => ({
    timeZone: settings.budgets.timeZone,
    place: await describePlace(thread),
  });
}

/** What a turn that begins under this configuration keeps until its end. */
function settleOptions(
  context: AppContext,
  config: Config,
  { models: currentModels, pool: currentPool, clock, previews, onProblem }: AgentRunnerParts,
): Omit<TurnRunnerOptions, "policy"> {
  const { log, masker, redis, budgets, surface, skills, sandbox } = context;
  const { observe, audit: note } = context.telemetry;
  const { agent, attachments, room, schedules, sessions } = config.settings;
  const models = currentModels();
  const pool = currentPool();
  const scheduleLimits: ScheduleLimits = {
    perThread: schedules.perThread,
    shortestMs: schedules.shortestMinutes * 60_000,
    longestMs: sessions.expireDays * 86_400_000,
  };
  return {
    choose: (thread, chosen) => observe.model(models.choose(thread, chosen)),
    summariser: observe.model(models.summariser),
    ...(models.helper && { helper: observe.model(models.helper) }),
    limits: {
      steps: agent.maxSteps,
      wallMs: agent.maxMinutes * 60_000,
      ...(agent.maxTokens && { tokens: agent.maxTokens }),
      ...(agent.maxCost && { cost: agent.maxCost }),
    },
    compaction: config.settings.compaction,
    budgets,
    instructions: agent.instructions,
    channel: (thread) => channelSettings(config.settings, thread),
    messageExtras: createMessageExtras({
      files: {
        files: attachments.files,
        fileBytes: attachments.fileMb * 1_048_576,
        messageBytes: attachments.messageMb * 1_048_576,
        downloadMs: attachments.seconds * 1_000,
      },
      room,
      surface,
      mayAsk: context.access.mayAsk,
      onProblem,
    }),
    sandbox,
    notes: (thread, speakers) => createRedisNotes({ redis, thread, speakers, now: Date.now, onProblem }),
    schedules: (thread, asked) =>
      createThreadSchedules({
        redis,
        clock,
        thread,
        limits: scheduleLimits,
        asked,
        audit: note,
        now: Date.now,
      }),
    journal: (thread) => createJournalReader(redis, thread),
    windows: shareLearntWindows(
      createLearntWindowStore(redis, (model) => findModelAddress(config, model)),
      { now: Date.now, onProblem },
    ),
    repositories: context.repositories,
    web: openWeb(config, { masker, redis }),
    previews,
    surface,
    skills,
    mcp: pool,
    hold: () => pool.hold(),
    masker,
    questionMs: config.settings.tools.questionMinutes * 60_000,
    log,
  };
}
