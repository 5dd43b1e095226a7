import type { Redis } from "ioredis";
import type { ConnectingPages } from "../accounts/connecting.ts";
import type { SkillLibrary } from "../agent/skills/library.ts";
import type { ChannelWatch } from "../chat/channel-watch.ts";
import type { Intake } from "../chat/inbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import { parseThreadId, threadId } from "../chat/threads.ts";
import { type Access, createAccess } from "../intake/access.ts";
import { dropRepeats } from "../intake/drop-repeats.ts";
import { requireConfirmation } from "../intake/require-confirmation.ts";
import { createIntake } from "../intake/intake.ts";
import { withSessionNotifications } from "../operations/session-notifications.ts";
import { describeStatus } from "../operations/installation/status.ts";
import { createMaskedSurface } from "../progress/mask.ts";
import { type Budgets, createBudgets } from "../queue/budgets/budgets.ts";
import { createRatings } from "../queue/budgets/ratings.ts";
import { readChanges } from "../queue/stores/administration-changes.ts";
import { createPromptIndex, type PromptIndex } from "../queue/stores/mcp-prompts.ts";
import { postNotice } from "../queue/outbox/notices.ts";
import { createRateLimiter, type RateLimiter } from "../queue/outbox/rate-limit.ts";
import type { RedisServer } from "../queue/redis/server.ts";
import { createReplication, type Replicate } from "../queue/redis/replication.ts";
import { whileAnswering } from "../queue/redis/while-answering.ts";
import { watchUnreadable } from "../queue/redis/unreadable.ts";
import { countAhead } from "../queue/turns/slots.ts";
import { openTurnQueue, type TurnQueue } from "../queue/turns/wake-queue.ts";
import type { Repositories } from "../repositories/repositories.ts";
import { monitorSandbox, type SandboxHealth } from "../sandbox/health.ts";
import { openTelemetry, type Telemetry } from "../telemetry/telemetry.ts";
import { listTriggerBudgets, openChannelWatch } from "./channel-watch.ts";
import type { LiveConfiguration } from "./configuration/live-configuration.ts";
import { openAdministration } from "./configuration/administration.ts";
import { listSkillNames } from "./channel-settings.ts";
import { createErrorLog, type ErrorLog } from "./error-log.ts";
import { offerModels } from "./models/models.ts";
import { openSurfaces } from "./platforms.ts";
import { listOfferedPrompts } from "./mcp/prompts.ts";
import { createOwnAccounts, openAccounts } from "./mcp/mcp-accounts.ts";
import { openAccountConnecting } from "./mcp/account-connecting.ts";
import type { CommandContext } from "./command-context.ts";
import { type HostParts, openHost } from "./host.ts";
import type { Running } from "./process/running.ts";
import { openStopTracking } from "./stop-tracking.ts";

/** What every role needs: Redis, the queue, intake and a way to write to each platform. */
export interface AppContext extends CommandContext, Running {
  server: RedisServer;
  redis: Redis;
  queue: TurnQueue;
  output: RateLimiter;
  budgets: Budgets;
  intake: Intake;
  /** Absent where no replicas are waited for. */
  replicate?: Replicate;
  watch: ChannelWatch;
  surface(platform: string): ChatSurface;
  /** Those that are configured, and the console's. */
  platforms: readonly string[];
  configuration: LiveConfiguration;
  skills: SkillLibrary;
  /** What workers have found of MCP servers' prompts. */
  prompts: PromptIndex;
  sandbox: SandboxHealth;
  repositories: Repositories;
  connecting: ConnectingPages;
  access: Access;
  telemetry: Telemetry;
  onError: ErrorLog;
}

/**
 * Connects to Redis, and proves the sandbox beside it: who needs it waits for its probe. @throws RedisUnavailable,
 * ConfigError; then nothing is left open
 * @param options.measures whether this process answers to `/metrics`
 * @param options.host by default one of its own
 */
export async function createAppContext(
  setup: CommandContext,
  { measures = false, host }: { measures?: boolean; host?: HostParts } = {},
): Promise<AppContext> {
  const parts = host ?? (await openHost(setup));
  try {
    return await openContext(setup, parts, measures);
  } catch (error) {
    await parts.close();
    throw error;
  }
}

async function openContext(setup: CommandContext, parts: HostParts, measures: boolean): Promise<AppContext> {
  const { config, log, masker } = setup;
  const { configuration, skills, repositories, backend, probe } = parts;
  const { server, redis } = await parts.connected;
  watchUnreadable(redis, {
    warn: (text) => log.warn(text),
    now: Date.now,
    onError: (error) => log.warn({ err: error }, "What cannot be read could not be noted."),
  });
  await configuration.change(await readChanges(redis));
  const queue = openTurnQueue(redis);
  const telemetry = await openTelemetry({ config, redis, masker, log, measures });
  const { observe } = telemetry;
  telemetry.metrics?.configuration(configuration.state());
  configuration.subscribe((state) => telemetry.metrics?.configuration(state));
  const surfaces = new Map(
    [...(await openSurfaces({ config, log, redis }))].map(([name, plain]) => [
      name,
      observe.surface(createMaskedSurface(plain, (text) => masker.mask(text))),
    ]),
  );
  const surface = (platform: string) => surfaceIn(surfaces, platform);
  const onProblem = (problem: string, error: unknown) => log.warn({ err: error }, problem);
  const output = observe.output(createRateLimiter(redis));
  const access = createAccess(configuration.section("access"));
  const budgets = openBudgets({
    ...{ configuration, redis, surface, output, onProblem, log },
  });
  const stops = openStopTracking({
    ...{ config, configuration, log, masker, redis, queue, output, surface, observe },
    subscribe: () => server.connect({ maxRetriesPerRequest: null }),
  });
  const connecting = await openAccountConnecting({ config, configuration, redis });
  const watch = openChannelWatch({ configuration, redis, queue, onProblem });
  const prompts = createPromptIndex(redis, Date.now);
  const plainIntake = createIntake({
    ownAccounts: createOwnAccounts(() => openAccounts(config, redis)),
    ...{ connecting, access, redis, queue, output, surface, budgets, onProblem, watch },
    audit: telemetry.audit,
    afterStop: stops.afterStop,
    ...(config.settings.feedback && { ratings: createRatings(redis, configuration.section("budgets")) }),
    models: (thread) => offerModels(configuration.current(), threadId(thread)),
    skills: (thread) => listSkillNames(configuration.current().settings, skills, threadId(thread)),
    prompts: (place, author) =>
      listOfferedPrompts(prompts, configuration.current().settings, { place, author }),
    administration: openAdministration(configuration, redis),
    status: (thread) => describeStatus(redis, thread),
    ahead: (thread, person) => countAhead(redis, queue, config.settings.queue, thread, person),
    now: Date.now,
  });
  const { waitForReplicas: replicas, replicaWaitMs: withinMs } = config.settings.queue;
  const replication = replicas > 0 && {
    replicate: createReplication({
      ...{ replicas, withinMs, writer: redis },
      redis: server.connect({ maxRetriesPerRequest: null }),
    }),
  };
  const confirmed = requireConfirmation(
    withSessionNotifications(plainIntake, { redis, surface, onProblem }),
    {
      confirm: (work) => whileAnswering(work, { redis, isAnswering: server.isAnswering }),
      ...replication,
    },
  );
  // What was stored and not confirmed is no repeat: a failover may have lost it by the time it is sent again.
  const intake = observe.intake(dropRepeats(confirmed));
  const sandbox = monitorSandbox(observe.sandbox(backend), log, { probe });
  return {
    ...{ ...setup, configuration, server, redis, queue, output, budgets, intake, surface, watch },
    platforms: [...surfaces.keys()],
    ...{ skills, prompts, sandbox, repositories, connecting, access, telemetry, ...replication },
    onError: createErrorLog({ log, redis }),
    async close() {
      watch.close();
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

/** The budgets as they are configured at the time; whoever nears one is told in the thread. */
function openBudgets({
  configuration,
  redis,
  surface,
  output,
  onProblem,
  log,
}: Pick<AppContext, "configuration" | "redis" | "surface" | "output" | "log"> & {
  onProblem(problem: string, error: unknown): void;
}): Budgets {
  return createBudgets({
    redis,
    settings: configuration.section("budgets"),
    triggers: { get: (name) => listTriggerBudgets(configuration.current().settings).get(name) },
    now: Date.now,
    warn(thread, warning) {
      if (thread === undefined) return log.warn(warning.markdown);
      const place = parseThreadId(thread);
      postNotice(place, warning, { surface: surface(place.platform), output, onProblem });
    },
    onError: (error) => onProblem("A reservation of a budget could not be renewed.", error),
  });
}

function surfaceIn(surfaces: ReadonlyMap<string, ChatSurface>, platform: string): ChatSurface {
  const found = surfaces.get(platform);
  if (!found) throw new Error(`There is no connection to ${platform}: its token is not set in this process.`);
  return found;
}
