import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { Redis } from "ioredis";
import {
  type ChatAdapter,
  type ChatSurface,
  type Door,
  parseThreadId,
  type ThreadId,
  threadId,
} from "./adapters/adapter.ts";
import { createLocalAdapter } from "./adapters/local/adapter.ts";
import type { ConsoleStatus } from "./adapters/local/services.ts";
import type { Masker } from "./agent/context/mask.ts";
import type { McpConfig } from "./agent/mcp/config.ts";
import { createMcpPool } from "./agent/mcp/pool.ts";
import { createPolicy } from "./agent/policy.ts";
import { createSkillLibrary, type SkillLibrary } from "./agent/skills/library.ts";
import { channelSettings, modelChoicesIn } from "./channel-settings.ts";
import type { Config } from "./config/load.ts";
import { announcing } from "./console/announcing.ts";
import { openOperations } from "./console/operations.ts";
import { workspaceFiles } from "./console/files.ts";
import { openWorkerDiary } from "./console/worker.ts";
import { createEnclosures } from "./enclosures/enclosures.ts";
import { type Access, createAccess } from "./intake/access.ts";
import { createIntake } from "./intake/intake.ts";
import type { Models } from "./models.ts";
import { openAdapters, openSurfaces } from "./platforms.ts";
import { createReporter, progressKey } from "./progress/reporter.ts";
import { type Budgets, createBudgets } from "./queue/budgets.ts";
import { createDrive } from "./queue/drive.ts";
import { hasWorker } from "./queue/heartbeat.ts";
import { publishLive } from "./queue/live.ts";
import { markMessage } from "./queue/marks.ts";
import { rememberMessages } from "./queue/mailbox.ts";
import { redisNotes } from "./queue/notes.ts";
import { postNotice } from "./queue/notices.ts";
import { flushOutbox, settledSince } from "./queue/outbox.ts";
import { createOutputScheduler, type OutputScheduler } from "./queue/output.ts";
import { startPresence } from "./queue/presence.ts";
import { isOutOfMemory, OutOfMemory, outOfMemory } from "./queue/redis/memory.ts";
import type { RedisServer } from "./queue/redis/server.ts";
import { openScheduleClock, takeScheduleTicks } from "./queue/schedule-clock.ts";
import { createFiring } from "./queue/schedule-firing.ts";
import { type ScheduleLimits, threadSchedules } from "./queue/schedules.ts";
import { createSlots } from "./queue/slots.ts";
import { watchStops } from "./queue/stops.ts";
import { readJournal } from "./queue/sessions.ts";
import { openTurnQueue, startTurnWorker, type TurnQueue } from "./queue/turns.ts";
import { openRedis } from "./redis.ts";
import { cleanPolicy, limitsOf, openSandboxBackend } from "./sandbox/open.ts";
import { type WatchedSandbox, watchSandbox } from "./sandbox/watched.ts";
import type { Logger } from "./telemetry/log.ts";
import { auditFolder, keepAudit, openTelemetry, type Telemetry } from "./telemetry/telemetry.ts";
import { createTurnRunner } from "./turn-runner.ts";

/** The skills that come with Heddle. */
export const shippedSkills = fileURLToPath(new URL("../skills", import.meta.url));

/** What a command begins with. */
export interface SetUp {
  config: Config;
  mcp: McpConfig;
  masker: Masker;
  log: Logger;
}

/** What every role needs: Redis, the queue, the door and a way to write to each platform. */
export interface Foundation extends SetUp {
  server: RedisServer;
  redis: Redis;
  queue: TurnQueue;
  output: OutputScheduler;
  budgets: Budgets;
  door: Door;
  surface(platform: string): ChatSurface;
  skills: SkillLibrary;
  sandbox: WatchedSandbox;
  access: Access;
  telemetry: Telemetry;
  close(): Promise<void>;
}

/**
 * Connects to Redis and proves the sandbox. @throws RedisUnavailable, ConfigError
 * @param options.measures whether this process answers to `/metrics`
 */
export async function layFoundation(
  { config, mcp, log, masker }: SetUp,
  { measures = false }: { measures?: boolean } = {},
): Promise<Foundation> {
  // First, because it may refuse the settings, and nothing is open yet.
  const skills = createSkillLibrary({
    folders: config.settings.skills.folders ?? [shippedSkills],
    pins: config.settings.skills.pins,
  });
  const backend = openSandboxBackend(config, { readOnly: skills.mounts, log: (line) => log.info(line) });
  const server = await openRedis(config, log);
  const redis = server.connect({ maxRetriesPerRequest: null });
  const queue = openTurnQueue(redis);
  const telemetry = await openTelemetry({ config, redis, masker, log, measures });
  const { observe } = telemetry;
  const surfaces = new Map(
    [...(await openSurfaces({ config, log, redis }))].map(([name, plain]) => [name, observe.surface(plain)]),
  );
  const surface = (platform: string): ChatSurface => {
    const found = surfaces.get(platform);
    if (!found)
      throw new Error(`There is no connection to ${platform}: its token is not set in this process.`);
    return found;
  };
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const output = observe.output(createOutputScheduler(redis));
  const access = createAccess(config.settings.access);
  const budgets = createBudgets({
    redis,
    settings: config.settings.budgets,
    now: Date.now,
    warn(thread, warning) {
      const place = parseThreadId(thread);
      postNotice(place, warning, { surface: surface(place.platform), output, onProblem });
    },
    onError: (error) => onProblem("A reservation of a budget could not be renewed.", error),
  });
  const intake = createIntake({
    ...{ access, redis, queue, output, surface, budgets, onProblem },
    audit: ({ action, thread, question: { id, tool }, by, decision: { kind } }) =>
      telemetry.note({
        what: action === "decided" ? "decided" : "decision-refused",
        ...{ thread, question: id, tool, decision: kind, by: { id: by.id, name: by.name } },
      }),
    models: (thread) => modelChoicesIn(config.settings, threadId(thread)),
    now: Date.now,
  });
  const door = announcing(observe.door(intake), redis, (error) =>
    onProblem("Lists of threads could not be told.", error),
  );
  const sandbox = await watchSandbox(observe.sandbox(backend), Date.now);
  return {
    config,
    mcp,
    log,
    masker,
    server,
    redis,
    queue,
    output,
    budgets,
    door,
    surface,
    skills,
    sandbox,
    access,
    telemetry,
    async close() {
      await backend.close();
      await telemetry.close();
      await queue.close();
      // Where something is still being written, the answer to QUIT may be lost with the connection.
      await redis.quit().catch(() => redis.disconnect());
      await server.close();
    },
  };
}

/** Something that runs until it is closed. */
export interface Running {
  close(): Promise<void>;
}

const noSandboxBanner =
  "⚠️ **No sandbox**: commands run as the person who started Heddle, with all their files.";

/** Takes turns from the queue and runs the agent. */
export async function startWorker(foundation: Foundation, models: Models): Promise<Running> {
  const { config, log, masker, redis, server, queue, output, budgets, surface, skills, sandbox } = foundation;
  const { observe } = foundation.telemetry;
  const { agent, attachments, queue: queueSettings, room, schedules, sessions } = config.settings;
  const channel = (thread: ThreadId) => channelSettings(config.settings, thread);
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const onError = (error: unknown) =>
    log.error(
      { err: error },
      isOutOfMemory(error) || error instanceof OutOfMemory ? outOfMemory : "the worker met an error",
    );

  const pool = createMcpPool({
    config: foundation.mcp,
    timeouts: {
      connectMs: config.settings.mcp.connectSeconds * 1_000,
      executeMs: config.settings.mcp.executeSeconds * 1_000,
      readMs: config.settings.mcp.readSeconds * 1_000,
    },
    log: (entry) => log[entry.level](`MCP server ${entry.server}: ${entry.message}`),
  });
  for (const { path, reason } of (await skills.current()).problems) log.warn(`Skill ${path}: ${reason}`);

  const clock = openScheduleClock(redis);
  const scheduleLimits: ScheduleLimits = {
    perThread: schedules.perThread,
    shortestMs: schedules.shortestMinutes * 60_000,
    longestMs: sessions.expireDays * 86_400_000,
  };
  const agentRunner = createTurnRunner({
    choose: (thread, chosen) => observe.model(models.choose(thread, chosen)),
    summariser: observe.model(models.summariser),
    limits: {
      steps: agent.maxSteps,
      wallMs: agent.maxMinutes * 60_000,
      ...(agent.maxTokens && { tokens: agent.maxTokens }),
      ...(agent.maxCost && { cost: agent.maxCost }),
    },
    budgets,
    instructions: agent.instructions,
    channel,
    enclosures: createEnclosures({
      files: {
        files: attachments.files,
        fileBytes: attachments.fileMb * 1_048_576,
        messageBytes: attachments.messageMb * 1_048_576,
        downloadMs: attachments.seconds * 1_000,
      },
      room,
      surface,
      mayAsk: foundation.access.mayAsk,
      onProblem,
    }),
    sandbox,
    notes: (thread, speakers) => redisNotes({ redis, thread, speakers, now: Date.now, onProblem }),
    schedules: (thread, asked) =>
      threadSchedules({ redis, clock, thread, limits: scheduleLimits, asked, now: Date.now }),
    journal: (thread) => readJournal(redis, thread),
    surface,
    skills,
    mcp: pool,
    masker,
    policy: createPolicy(config.settings.tools.rules, config.settings.tools.default),
    questionMs: config.settings.tools.questionMinutes * 60_000,
    log,
  });

  const cleaning = setInterval(() => void cleanWorkspaces(foundation), cleanEveryMs).unref();
  const stops = await watchStops(redis, server.connect(), onError);
  const drive = createDrive({
    redis,
    stops,
    runner: observe.runner(agentRunner),
    expireSeconds: sessions.expireDays * 86_400,
    now: Date.now,
    newId: () => randomUUID().slice(0, 8),
    display(lease, turn) {
      const turnLog = log.child({ thread: lease.thread, turn: turn.id });
      const reporter = createReporter({
        surface: surface(parseThreadId(lease.thread).platform),
        output,
        thread: lease.thread,
        turn,
        verbosity: turn.verbosity ?? channel(lease.thread).verbosity ?? "normal",
        ...(sandbox.backend.name === "none" && { banner: noSandboxBanner }),
        async onProgressPosted(ref) {
          await lease.append([], { fields: { progress: JSON.stringify(ref) } });
          await rememberMessages(redis, lease.thread, [ref]);
        },
        overtaken: () => settledSince(redis, lease, progressKey(turn.id)),
        mark: (ref, mark, signal) =>
          markMessage({ redis, output, surface: surface(ref.platform) }, ref, mark, signal),
        publish: (event) => publishLive(redis, lease.thread, event, onError),
        mask: (text) => masker.mask(text),
        onProblem: (problem, error) => turnLog.warn({ err: error }, problem),
      });
      return observe.display(reporter, lease.thread, turn);
    },
    flushOutbox: (lease, signal, progressQuiet) =>
      flushOutbox(lease, {
        redis,
        surface: surface(parseThreadId(lease.thread).platform),
        output,
        signal,
        progressQuiet,
        onProblem: (problem, error) => log.warn({ err: error, thread: lease.thread }, problem),
      }),
  });
  const diary = openWorkerDiary({
    concurrency: queueSettings.concurrency,
    model: models.model.id,
    sandbox,
    mcp: pool,
    mask: (text) => masker.mask(text),
    now: Date.now,
  });
  const worker = await startTurnWorker({
    redis: server.connect({ maxRetriesPerRequest: null }),
    queue,
    drive: diary.noting(drive),
    slots: createSlots(redis, queueSettings, onError),
    concurrency: queueSettings.concurrency,
    lockMs: queueSettings.lockSeconds * 1_000,
    sweepMs: queueSettings.sweepSeconds * 1_000,
    onError,
  });
  const ticks = await takeScheduleTicks({
    redis: server.connect({ maxRetriesPerRequest: null }),
    fire: createFiring({
      redis,
      queue,
      output,
      surface,
      mayAsk: async () => ({ allowed: true }),
      mask: (text) => masker.mask(text),
      now: Date.now,
      onProblem,
    }),
    lockMs: queueSettings.lockSeconds * 1_000,
    onError,
  });
  const presence = await startPresence({ redis, describe: () => diary.describe(), onError });
  return {
    async close() {
      await Promise.all([worker.close(), ticks.close()]);
      clearInterval(cleaning);
      await Promise.all([presence.close(), stops.close(), pool.close(), clock.close()]);
    },
  };
}

const cleanEveryMs = 6 * 3_600_000;

async function cleanWorkspaces({ config, sandbox, log }: Foundation): Promise<void> {
  if (!sandbox.probe.ok) return;
  try {
    const { archived, failed } = await (await sandbox.backend.workspaces()).clean(cleanPolicy(config));
    if (archived.length + failed.length > 0) log.info({ archived, failed }, "idle workspaces were archived");
  } catch (error) {
    log.warn({ err: error }, "idle workspaces could not be archived");
  }
}

/** Something that the operator has to put right before Heddle can start. */
class StartError extends Error {
  override readonly name = "StartError";
}

/** Connects to the chat platforms and serves the console. */
export async function startGateway(
  foundation: Foundation,
  model: { id: string },
): Promise<Running & { url: string }> {
  const { config, log, redis, server, door } = foundation;
  const { environment } = config;
  const adapters = await openAdapters({
    config,
    log,
    redis,
    skills: foundation.skills,
    access: foundation.access,
  });
  const operations = openOperations({
    ...{ redis, server, queue: foundation.queue, skills: foundation.skills },
    budgets: config.settings.budgets,
    limits: limitsOf(config.settings.sandbox),
    auditFolder: auditFolder(config),
    mask: (text) => foundation.masker.mask(text),
    now: Date.now,
    onError: (error) => log.warn({ err: error }, "the console could not follow what happens"),
  });
  const local = createLocalAdapter({
    redis,
    host: environment.HEDDLE_HOST,
    port: environment.HEDDLE_PORT,
    ...(environment.HEDDLE_CONSOLE_TOKEN && { token: environment.HEDDLE_CONSOLE_TOKEN }),
    files: workspaceFiles(foundation.sandbox),
    operations,
    status: async (): Promise<ConsoleStatus> => ({
      model: model.id,
      demo: model.id === "demo",
      sandbox: foundation.sandbox.probe,
      redis: server.kind,
      adapters: adapters.map(({ platform }) => platform),
    }),
    hasWorker: () => hasWorker(redis),
    ...(foundation.telemetry.metrics && { metrics: foundation.telemetry.metrics }),
    log,
  });
  adapters.push(local);

  const started: ChatAdapter[] = [];
  const endKeeping = keepAudit(redis, config, log);
  const close = async () => {
    endKeeping();
    await Promise.all(started.map((adapter) => adapter.stop()));
    operations.close();
  };
  try {
    for (const adapter of adapters) {
      await adapter.start(door);
      started.push(adapter);
    }
  } catch (error) {
    await close();
    // Adapters throw a plain Error with a sentence for the operator; anything else is a defect and keeps its stack.
    throw error instanceof Error && error.name === "Error"
      ? new StartError(error.message, { cause: error })
      : error;
  }
  return { url: local.url, close };
}
