import { fileURLToPath } from "node:url";
import type { Redis } from "ioredis";
import type { GrowingMasker } from "../agent/secrets/mask-secrets.ts";
import type { McpConfig } from "../agent/mcp/config.ts";
import { createSkillLibrary, type SkillLibrary } from "../agent/skills/library.ts";
import type { Intake } from "../chat/inbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import { parseThreadId, threadId } from "../chat/threads.ts";
import type { Config } from "../config/load.ts";
import { type Access, createAccess } from "../intake/access.ts";
import { dropRepeats } from "../intake/drop-repeats.ts";
import { confirmedOnly } from "../intake/confirmed-only.ts";
import { createIntake } from "../intake/intake.ts";
import { withSessionNotifications } from "../operations/session-notifications.ts";
import { describeStatus } from "../operations/status.ts";
import { createMaskedSurface } from "../progress/mask.ts";
import { type Budgets, createBudgets } from "../queue/budgets/budgets.ts";
import { createRatings } from "../queue/budgets/ratings.ts";
import { addTransferredBytes } from "../queue/budgets/transferred-bytes.ts";
import { postNotice } from "../queue/outbox/notices.ts";
import { createRateLimiter, type RateLimiter } from "../queue/outbox/rate-limit.ts";
import type { RedisServer } from "../queue/redis/server.ts";
import { createReplication } from "../queue/redis/replication.ts";
import { whileAnswering } from "../queue/redis/while-answering.ts";
import { watchUnreadable } from "../queue/redis/unreadable.ts";
import { countAhead } from "../queue/turns/slots.ts";
import { openTurnQueue, type TurnQueue } from "../queue/turns/wake-queue.ts";
import { monitorSandbox, type SandboxHealth } from "../sandbox/health.ts";
import type { Logger } from "../telemetry/log.ts";
import { openTelemetry, type Telemetry } from "../telemetry/telemetry.ts";
import { offerModels } from "./models.ts";
import { openSurfaces } from "./platforms.ts";
import { openRedis } from "./redis.ts";
import { openSandboxBackend } from "./sandbox.ts";
import { openStopTracking } from "./stop-tracking.ts";

/** The skills that come with Heddle. */
export const shippedSkills = fileURLToPath(new URL("../../skills", import.meta.url));

/** What a command begins with. */
export interface CommandContext {
  config: Config;
  mcp: McpConfig;
  masker: GrowingMasker;
  log: Logger;
}

/** What every role needs: Redis, the queue, intake and a way to write to each platform. */
export interface AppContext extends CommandContext, Running {
  server: RedisServer;
  redis: Redis;
  queue: TurnQueue;
  output: RateLimiter;
  budgets: Budgets;
  intake: Intake;
  surface(platform: string): ChatSurface;
  /** Those that are configured, and the console's. */
  platforms: readonly string[];
  skills: SkillLibrary;
  sandbox: SandboxHealth;
  access: Access;
  telemetry: Telemetry;
}

/**
 * Connects to Redis and proves the sandbox. @throws RedisUnavailable, ConfigError
 * @param options.measures whether this process answers to `/metrics`
 */
export async function createAppContext(
  { config, mcp, log, masker }: CommandContext,
  { measures = false }: { measures?: boolean } = {},
): Promise<AppContext> {
  // First, because it may refuse the settings, and nothing is open yet.
  const skills = createSkillLibrary({
    folders: config.settings.skills.folders ?? [shippedSkills],
    pins: config.settings.skills.pins,
  });
  const backend = openSandboxBackend(config, {
    readOnly: skills.mounts,
    log: (line) => log.info(line),
    moved: { add: (thread, day, bytes) => addTransferredBytes(redis, thread, day, bytes) },
  });
  const server = await openRedis(config, log);
  const redis = server.connect({ maxRetriesPerRequest: null });
  watchUnreadable(redis, {
    warn: (text) => log.warn(text),
    now: Date.now,
    onError: (error) => log.warn({ err: error }, "What cannot be read could not be noted."),
  });
  const queue = openTurnQueue(redis);
  const telemetry = await openTelemetry({ config, redis, masker, log, measures });
  const { observe } = telemetry;
  const surfaces = new Map(
    [...(await openSurfaces({ config, log, redis }))].map(([name, plain]) => [
      name,
      observe.surface(createMaskedSurface(plain, (text) => masker.mask(text))),
    ]),
  );
  const surface = (platform: string) => surfaceIn(surfaces, platform);
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const output = observe.output(createRateLimiter(redis));
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
  const stops = openStopTracking({
    ...{ config, log, masker, redis, queue, output, surface, observe },
    subscribe: () => server.connect(),
  });
  const plainIntake = createIntake({
    ...{ access, redis, queue, output, surface, budgets, onProblem },
    audit: telemetry.audit,
    afterStop: stops.afterStop,
    ...(config.settings.feedback && { ratings: createRatings(redis, config.settings.budgets) }),
    models: (thread) => offerModels(config, threadId(thread)),
    status: (thread) => describeStatus(redis, thread),
    ahead: (thread, person) => countAhead(redis, queue, config.settings.queue, thread, person),
    now: Date.now,
  });
  const { waitForReplicas: replicas, replicaWaitMs: withinMs } = config.settings.queue;
  const confirmed = confirmedOnly(withSessionNotifications(plainIntake, { redis, surface, onProblem }), {
    confirm: (work) => whileAnswering(work, { redis, isAnswering: server.isAnswering }),
    ...(replicas > 0 && {
      replicate: createReplication({
        ...{ replicas, withinMs },
        redis: server.connect({ maxRetriesPerRequest: null }),
      }),
    }),
  });
  // What was stored and not confirmed is no repeat: a failover may have lost it by the time it is sent again.
  const intake = observe.intake(dropRepeats(confirmed));
  const sandbox = await monitorSandbox(observe.sandbox(backend), log, Date.now);
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
    intake,
    surface,
    platforms: [...surfaces.keys()],
    skills,
    sandbox,
    access,
    telemetry,
    async close() {
      await stops.close();
      await backend.close();
      await telemetry.close();
      await queue.close();
      // Where something is still being written, the answer to QUIT may be lost with the connection.
      await redis.quit().catch(() => redis.disconnect());
      await server.close();
    },
    async abandon() {
      await Promise.all([backend.close(), server.close()]);
    },
  };
}

function surfaceIn(surfaces: ReadonlyMap<string, ChatSurface>, platform: string): ChatSurface {
  const found = surfaces.get(platform);
  if (!found) throw new Error(`There is no connection to ${platform}: its token is not set in this process.`);
  return found;
}

/** Something that runs until it is closed. */
export interface Running {
  close(): Promise<void>;
  /** Ends the processes that it has started, when closing cannot be waited for because Redis does not answer. */
  abandon?(): Promise<void>;
}
