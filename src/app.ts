import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { Redis } from "ioredis";
import {
  type ChatAdapter,
  type ChatSurface,
  type Door,
  parseThreadId,
  threadId,
} from "./adapters/adapter.ts";
import { createLocalAdapter } from "./adapters/local/adapter.ts";
import type { ConsoleStatus, WorkspaceFiles } from "./adapters/local/services.ts";
import type { Masker } from "./agent/context/mask.ts";
import type { McpConfig } from "./agent/mcp/config.ts";
import { createMcpPool } from "./agent/mcp/pool.ts";
import { createSkillLibrary, type SkillLibrary } from "./agent/skills/library.ts";
import type { Config } from "./config/load.ts";
import { openOperations } from "./console/operations.ts";
import { openWorkerDiary } from "./console/worker.ts";
import { createIntake } from "./intake/intake.ts";
import type { Models } from "./models.ts";
import { openAdapters, openSurfaces } from "./platforms.ts";
import { createReporter, progressKey } from "./progress/reporter.ts";
import { type Budgets, createBudgets } from "./queue/budgets.ts";
import { createDrive } from "./queue/drive.ts";
import { announceSession, publishLive } from "./queue/live.ts";
import { markMessage } from "./queue/marks.ts";
import { rememberMessages } from "./queue/mailbox.ts";
import { redisNotes } from "./queue/notes.ts";
import { postNotice } from "./queue/notices.ts";
import { flushOutbox, settledSince } from "./queue/outbox.ts";
import { createOutputScheduler, type OutputScheduler } from "./queue/output.ts";
import { startPresence } from "./queue/presence.ts";
import { connectRedis } from "./queue/redis/connect.ts";
import type { RedisServer } from "./queue/redis/server.ts";
import { createSlots } from "./queue/slots.ts";
import { watchStops } from "./queue/stops.ts";
import { readJournal } from "./queue/sessions.ts";
import { openTurnQueue, startTurnWorker, type TurnQueue } from "./queue/turns.ts";
import { cleanPolicy, limitsOf, openSandboxBackend } from "./sandbox/open.ts";
import { type WatchedSandbox, watchSandbox } from "./sandbox/watched.ts";
import type { Logger } from "./telemetry/log.ts";
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
  close(): Promise<void>;
}

/** Connects to Redis and proves the sandbox. @throws RedisUnavailable, ConfigError */
export async function layFoundation({ config, mcp, log, masker }: SetUp): Promise<Foundation> {
  const { environment } = config;
  // First, because it may refuse the settings, and nothing is open yet.
  const skills = createSkillLibrary({
    folders: config.settings.skills.folders ?? [shippedSkills],
    pins: config.settings.skills.pins,
  });
  const backend = openSandboxBackend(config, { readOnly: skills.mounts, log: (line) => log.info(line) });
  const server = await connectRedis({
    ...(environment.REDIS_URL && { url: environment.REDIS_URL }),
    dataDir: config.dataDir,
    production: environment.NODE_ENV === "production",
    allowEmbedded: environment.EMBEDDED_REDIS === "1",
    log,
  });
  const redis = server.connect({ maxRetriesPerRequest: null });
  const queue = openTurnQueue(redis);
  const surfaces = await openSurfaces({ config, log, redis });
  const surface = (platform: string): ChatSurface => {
    const found = surfaces.get(platform);
    if (!found)
      throw new Error(`There is no connection to ${platform}: its token is not set in this process.`);
    return found;
  };
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const output = createOutputScheduler(redis);
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
    ...{ redis, queue, output, surface, budgets, onProblem },
    // Nobody, until administrators can be named.
    mayExtend: () => false,
    now: Date.now,
  });
  const door: Door = {
    async receive(event) {
      const verdict = await intake.receive(event);
      if ("thread" in verdict) {
        announceSession(redis, verdict.thread, (error) => onProblem("Lists could not be told.", error));
      }
      return verdict;
    },
  };
  const sandbox = await watchSandbox(backend, Date.now);
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
    async close() {
      await backend.close();
      await queue.close();
      await redis.quit();
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
  const { agent, queue: queueSettings, sessions } = config.settings;
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const onError = (error: unknown) => log.error({ err: error }, "the worker met an error");

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

  const runner = createTurnRunner({
    ...models,
    limits: {
      steps: agent.maxSteps,
      wallMs: agent.maxMinutes * 60_000,
      ...(agent.maxTokens && { tokens: agent.maxTokens }),
      ...(agent.maxCost && { cost: agent.maxCost }),
    },
    budgets,
    instructions: agent.instructions,
    sandbox,
    notes: (thread, speakers) => redisNotes({ redis, thread, speakers, now: Date.now, onProblem }),
    journal: (thread) => readJournal(redis, thread),
    surface,
    skills,
    mcp: pool,
    masker,
    log,
  });

  const cleaning = setInterval(() => void cleanWorkspaces(foundation), cleanEveryMs).unref();
  const stops = await watchStops(redis, server.connect(), onError);
  const drive = createDrive({
    redis,
    stops,
    runner,
    expireSeconds: sessions.expireDays * 86_400,
    now: Date.now,
    newId: () => randomUUID().slice(0, 8),
    display: (lease, turn) =>
      createReporter({
        surface: surface(parseThreadId(lease.thread).platform),
        output,
        thread: lease.thread,
        turn,
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
        onProblem,
      }),
    flushOutbox: (lease, signal, progressQuiet) =>
      flushOutbox(lease, {
        redis,
        surface: surface(parseThreadId(lease.thread).platform),
        output,
        signal,
        progressQuiet,
        onProblem,
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
  const presence = await startPresence({ redis, describe: () => diary.describe(), onError });
  return {
    async close() {
      await worker.close();
      clearInterval(cleaning);
      await Promise.all([presence.close(), stops.close(), pool.close()]);
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
  const adapters = await openAdapters({ config, log, redis });
  const operations = openOperations({
    ...{ redis, server, queue: foundation.queue, skills: foundation.skills },
    budgets: config.settings.budgets,
    limits: limitsOf(config.settings.sandbox),
    mask: (text) => foundation.masker.mask(text),
    now: Date.now,
    onError: (error) => log.warn({ err: error }, "the console could not follow what happens"),
  });
  const local = createLocalAdapter({
    redis,
    host: environment.HEDDLE_HOST,
    port: environment.HEDDLE_PORT,
    ...(environment.HEDDLE_CONSOLE_TOKEN && { token: environment.HEDDLE_CONSOLE_TOKEN }),
    files: workspaceFiles(foundation),
    operations,
    status: async (): Promise<ConsoleStatus> => ({
      model: model.id,
      demo: model.id === "demo",
      sandbox: foundation.sandbox.probe,
      redis: server.kind,
      adapters: adapters.map(({ platform }) => platform),
    }),
    log,
  });
  adapters.push(local);

  const started: ChatAdapter[] = [];
  const close = async () => {
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

/** The files of a thread, through its sandbox: whoever looks at a workspace must not follow its links. */
function workspaceFiles({ sandbox }: Foundation): WorkspaceFiles {
  const none = {
    ok: false,
    reason: "failed",
    message: "There is no sandbox on this host, so there are no files.",
  } as const;
  return {
    async list(thread) {
      return sandbox.probe.ok ? (await sandbox.backend.open(threadId(thread))).listFiles() : none;
    },
    async read(thread, path) {
      return sandbox.probe.ok ? (await sandbox.backend.open(threadId(thread))).readFile(path) : none;
    },
  };
}
