import { validateHeaderValue } from "node:http";
import { join } from "node:path";
import type { Environment } from "../config/environment.ts";
import { ConfigError } from "../config/config-error.ts";
import type { Config } from "../config/load.ts";
import type { Settings } from "../config/schema.ts";
import { createBubblewrapBackend } from "../sandbox/bubblewrap/backend.ts";
import type { DayCounter } from "../sandbox/egress/allowance.ts";
import type { ForkedSpawner } from "../sandbox/bubblewrap/spawner.ts";
import { createEgress, type Egress, type RepositoriesOf } from "../sandbox/egress/egress.ts";
import { deriveTotals, type SandboxLimits } from "../sandbox/limits.ts";
import { createUnconfinedBackend } from "../sandbox/plain/backend.ts";
import type { FenceTimes } from "../sandbox/running/fence.ts";
import type { SandboxBackend } from "../sandbox/sandbox.ts";
import type { BackendOptions } from "../sandbox/thread/backend.ts";
import type { ReadOnlyMount } from "../sandbox/thread/read-only.ts";
import { readRegistries } from "./repositories/registries.ts";
import { createFolderStore } from "../sandbox/workspaces/store.ts";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const dayMs = 86_400_000;

/**
 * The sandbox of this host, as the operator wants it. Its probe tells whether it can be used.
 *
 * @param outside.readOnly folders that every sandbox sees, the same array for as long as nothing has changed
 * @param outside.repositoriesOf what threads have of the repositories; absent where there are none
 * @param outside.moved counts what threads move over the network; without it this process counts for itself
 * @param outside.spawner a process for it that is there already; ended where it is of no use
 * @throws ConfigError for settings that contradict each other
 */
export function openSandboxBackend(
  config: Pick<Config, "dataDir" | "environment" | "secretFiles" | "settings" | "variables">,
  outside: {
    readOnly?(): readonly ReadOnlyMount[];
    log?(line: string): void;
    moved?: DayCounter;
    repositoriesOf?: RepositoriesOf | undefined;
    spawner?: ForkedSpawner | undefined;
  } = {},
): SandboxBackend {
  const { channels, queue, repositories, sandbox, workspaces } = config.settings;
  // Who only looks at the host needs to know that there are some.
  const none = Object.keys(repositories).length > 0 ? () => [] : undefined;
  const { moved, repositoriesOf = none, spawner, ...seen } = outside;
  const options: BackendOptions = {
    dataDir: config.dataDir,
    limits: readSandboxLimits(sandbox),
    fence: readFence(queue),
    requiresGroups: sandbox.require === "cgroup",
    secretFiles: config.secretFiles,
    checkpoints: readCheckpointLimits(config),
    toolChains: {
      folders: sandbox.toolChains,
      of: (thread) => channels[thread.split(":").slice(0, 3).join(":")]?.toolChains ?? [],
    },
    mirrorBytes: sandbox.mirrorMb * mebibyte,
    egress: egressOf(config, { log: outside.log ?? (() => {}), counter: moved, repositoriesOf }),
    ...(workspaces.store !== undefined && { store: createFolderStore(workspaces.store) }),
    ...seen,
  };
  if (sandbox.backend === "none") {
    spawner?.abandon();
    assertSingleUser(config.environment);
    return createUnconfinedBackend(options);
  }
  return createBubblewrapBackend(options, spawner);
}

/** @throws ConfigError when anybody but the person at this machine could give work */
function assertSingleUser(environment: Environment): void {
  const without = "sandbox.backend: none runs commands without any isolation";
  if (environment.HEDDLE_UNSAFE !== "no-sandbox") {
    throw new ConfigError(
      `${without}; set HEDDLE_UNSAFE=no-sandbox as well if you mean it, or remove the setting.`,
    );
  }
  const platforms = (
    ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_CLIENT_ID", "DISCORD_TOKEN"] as const
  ).filter((name) => environment[name]);
  if (platforms.length > 0) {
    throw new ConfigError(
      `${without}, so nobody else may give work; unset ${platforms.join(" and ")}, or remove the setting.`,
    );
  }
  if (!["127.0.0.1", "::1", "localhost"].includes(environment.HEDDLE_HOST)) {
    throw new ConfigError(
      `${without}, so the console must stay on this machine; unset HEDDLE_HOST, or remove the setting.`,
    );
  }
}

/**
 * When clean-up archives a workspace, and when it removes an archive. Nothing is idle while a job can still run that the
 * last turn has started at its end, in whatever process.
 */
export function readCleanPolicy({ settings: { agent, sandbox, workspaces } }: Pick<Config, "settings">) {
  const longestUseMs = (agent.maxMinutes + sandbox.jobMinutes) * 60_000;
  return {
    idleMs: Math.max(workspaces.idleDays * dayMs, longestUseMs),
    archiveMs: workspaces.archiveDays * dayMs,
  };
}

/** What is kept of files for an undo. Workers that share workspaces share that as well. */
function readCheckpointLimits({
  settings: { undo, workspaces },
}: Pick<Config, "settings">): NonNullable<BackendOptions["checkpoints"]> {
  return {
    most: undo.checkpoints,
    bytes: undo.megabytes * mebibyte,
    ageMs: undo.days * dayMs,
    ...(workspaces.store !== undefined && { folder: join(workspaces.store, "checkpoints") }),
  };
}

/** How long something may run without a word from Redis. */
export function readFence({ fenceSeconds, jobFenceSeconds, lockSeconds }: Settings["queue"]): FenceTimes {
  const turn = fenceSeconds ?? Math.max(60, 2 * lockSeconds);
  return { turnMs: turn * 1_000, jobMs: (jobFenceSeconds ?? Math.max(600, turn)) * 1_000 };
}

/** The limits as `heddle.yaml` sets them. */
export function readSandboxLimits(sandbox: Settings["sandbox"]): SandboxLimits {
  const totals = deriveTotals({
    memoryBytes: sandbox.memoryMb * mebibyte,
    processes: sandbox.processes,
  });
  const { threadMemoryMb, threadProcesses, allMemoryMb, allProcesses } = sandbox;
  return {
    commandMs: sandbox.commandSeconds * 1_000,
    longestCommandMs: sandbox.commandSecondsMax * 1_000,
    jobMs: sandbox.jobMinutes * 60_000,
    outputBytes: sandbox.outputKb * kibibyte,
    jobOutputBytes: sandbox.jobOutputKb * kibibyte,
    memoryBytes: sandbox.memoryMb * mebibyte,
    processMemoryBytes: sandbox.processMemoryMb * mebibyte,
    processes: sandbox.processes,
    threadMemoryBytes: threadMemoryMb ? threadMemoryMb * mebibyte : totals.threadMemoryBytes,
    threadProcesses: threadProcesses ?? totals.threadProcesses,
    allMemoryBytes: allMemoryMb ? allMemoryMb * mebibyte : totals.allMemoryBytes,
    allProcesses: allProcesses ?? totals.allProcesses,
    cpus: sandbox.cpus,
    fileBytes: sandbox.fileMb * mebibyte,
    workspaceBytes: sandbox.workspaceMb * mebibyte,
    workspaceInodes: sandbox.workspaceFiles,
    freeBytes: sandbox.freeMb * mebibyte,
    jobsPerThread: sandbox.jobsPerThread,
    jobs: sandbox.jobs,
  };
}

function egressOf(
  { settings, variables }: Pick<Config, "settings" | "variables">,
  {
    log,
    counter,
    repositoriesOf,
  }: {
    log: (line: string) => void;
    counter: DayCounter | undefined;
    repositoriesOf: RepositoriesOf | undefined;
  },
): Egress {
  const { egress } = settings;
  const credentials = egress.credentials.map(({ host, header, variable, channels }) => {
    const value = variables[variable];
    if (value === undefined) {
      throw new ConfigError(
        `egress.credentials names ${variable} for ${host}, which is not set; set it in the environment or in .env, or remove the entry.`,
      );
    }
    try {
      validateHeaderValue(header, value);
    } catch {
      throw new ConfigError(
        `${variable}, which egress.credentials names for ${host}, cannot be the value of a header; set it in one line, without control characters.`,
      );
    }
    return { host, header, value, channels };
  });
  return createEgress({
    rules: {
      allow: egress.allow,
      channels: channelHosts(settings),
      registries: readRegistries(settings),
      credentials,
    },
    limits: { connections: egress.connections, bytesPerDay: egress.mbPerDay * mebibyte },
    ...(counter && { counter }),
    repositoriesOf,
    log,
  });
}

/** What a channel may reach besides `egress.allow`; all places that can say so count. */
function channelHosts({ egress, channels }: Config["settings"]): Record<string, string[]> {
  const names = [...Object.keys(egress.channels), ...Object.keys(channels)];
  return Object.fromEntries(
    names.map((name) => [
      name,
      [...(egress.channels[name]?.allow ?? []), ...(channels[name]?.network ?? [])],
    ]),
  );
}
