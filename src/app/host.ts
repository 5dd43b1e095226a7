import { fileURLToPath } from "node:url";
import type { Redis } from "ioredis";
import { createSkillLibrary, type SkillLibrary } from "../agent/skills/library.ts";
import type { Settings } from "../config/schema.ts";
import { addTransferredBytes } from "../queue/budgets/transferred-bytes.ts";
import type { RedisServer } from "../queue/redis/server.ts";
import type { Repositories } from "../repositories/repositories.ts";
import type { ForkedSpawner } from "../sandbox/bubblewrap/spawner.ts";
import type { Probe, SandboxBackend } from "../sandbox/sandbox.ts";
import type { CommandContext } from "./command-context.ts";
import type { Configuration, LiveConfiguration } from "./configuration/live-configuration.ts";
import { createLiveConfiguration } from "./configuration/live-configuration.ts";
import { reloadConfiguration } from "./configuration/load.ts";
import type { Running } from "./process/running.ts";
import { openRedis } from "./redis.ts";
import { openRepositories } from "./repositories/repositories.ts";
import { openSandboxBackend } from "./sandbox.ts";

/** The skills that come with Heddle. */
export const shippedSkills = fileURLToPath(new URL("../../skills", import.meta.url));

/**
 * What a process has of its host: the configuration's files, skills, the sandbox, and Redis. Closing it waits for no
 * connection to Redis that is still being made, as a silent server takes its time: that ends with the process.
 */
export interface HostParts extends Running {
  configuration: LiveConfiguration;
  skills: SkillLibrary;
  repositories: Repositories;
  backend: SandboxBackend;
  /** The sandbox's first probe, which is under way. */
  probe: Promise<Probe>;
  /** Rejects with RedisUnavailable. */
  connected: Promise<{ server: RedisServer; redis: Redis }>;
}

/**
 * Begins to connect to Redis and to prove the sandbox. Both are other processes, and take as long as it takes to load
 * the rest of the program: whoever loads it meanwhile is ready sooner.
 *
 * @param spawner the sandbox's process, where it has been started already
 * @throws ConfigError for settings that contradict each other; nothing is open then
 */
export async function openHost(
  setup: CommandContext,
  configuration = openConfiguration(setup),
  spawner?: ForkedSpawner,
): Promise<HostParts> {
  const { config, log, masker } = setup;
  let opened: { server: RedisServer; redis: Redis } | undefined;
  const redis = () => {
    if (opened === undefined) throw new Error("Redis is asked before this process is connected to it.");
    return opened.redis;
  };
  // First, because it may refuse the settings, and nothing is open yet.
  const skills = await openSkills(configuration);
  const repositories = openRepositories(config, { redis, masker });
  const backend = openSandboxBackend(config, {
    repositoriesOf: repositories.egressOf,
    readOnly: skills.mounts,
    log: (line) => log.info(line),
    spawner,
    moved: { add: (thread, day, bytes) => addTransferredBytes(redis(), thread, day, bytes) },
  });
  const connected = openRedis(config, log).then(
    (server) => (opened = { server, redis: server.connect({ maxRetriesPerRequest: null }) }),
  );
  const probe = backend.probe();
  // Whoever awaits them hears of it, and may do so only when it has loaded the rest.
  for (const promise of [connected, probe]) promise.catch(() => undefined);
  return {
    ...{ configuration, skills, repositories, backend, connected, probe },
    async close() {
      await backend.close();
      opened?.redis.disconnect();
      await opened?.server.close();
    },
  };
}

/** The configuration of this process, which changes when it is told to reload. */
export function openConfiguration({ config, mcp, hash, masker, log }: CommandContext): LiveConfiguration {
  const started = { config, mcp, hash };
  return createLiveConfiguration({
    started,
    load: (inForce) => reloadConfiguration(inForce, process.env, process.cwd()),
    now: Date.now,
    log,
    onSecret: (secret) => masker.add(secret),
  });
}

/** The skills of the folders that are configured at the time. */
async function openSkills(configuration: Configuration): Promise<SkillLibrary> {
  const library = await configuration.derive({
    of: ({ config }) => config.settings.skills,
    make: ({ config: { settings } }) => createConfiguredSkills(settings),
  });
  return { current: () => library().current(), mounts: () => library().mounts() };
}

/** Whoever asks for the same settings shares one library, which reads the folders once. */
const libraries = new WeakMap<Settings["skills"], SkillLibrary>();

export function createConfiguredSkills({ skills }: Pick<Settings, "skills">): SkillLibrary {
  const known = libraries.get(skills);
  if (known) return known;
  const library = createSkillLibrary({ folders: skills.folders ?? [shippedSkills], pins: skills.pins });
  libraries.set(skills, library);
  return library;
}
