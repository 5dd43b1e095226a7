import type { Redis } from "ioredis";
import type { RedisServer } from "../../queue/redis/server.ts";
import { listUnreadable } from "../../queue/redis/unreadable.ts";
import { type ListSize, readSizes } from "../../queue/session/lists/sizes.ts";
import type { TurnQueue } from "../../queue/turns/wake-queue.ts";
import type { SandboxLimits } from "../../sandbox/limits.ts";
import { listAuditProblems } from "../../telemetry/audit/problems.ts";
import { formatChange, readChanges } from "../../queue/stores/administration-changes.ts";
import { makeExcerpt, type Mask } from "../excerpt.ts";
import type { StoredList, SystemReport, WorkerReport } from "../reports.ts";
import type { ThreadIndex } from "../operations.ts";
import { findConfigurationProblems, readConfigurations } from "./configurations.ts";
import { readWorkers } from "./workers.ts";

/** The skills that there are, as the agent's library lists them. */
export interface ListedSkills {
  current(): Promise<{
    skills: readonly { name: string; description: string }[];
    problems: readonly { path: string; reason: string }[];
  }>;
}

/** Of instructions. */
const changeChars = 300;
const shownWorkers = 100;
/** Of one worker. */
const titledTurns = 50;

/** The state of the installation as this process sees it, and what the workers say of themselves. */
export async function reportSystem(options: {
  redis: Redis;
  server: Pick<RedisServer, "kind" | "describe" | "warnings">;
  queue: Pick<TurnQueue, "depth">;
  skills: ListedSkills;
  limits: SandboxLimits;
  threads: Pick<ThreadIndex, "find">;
  mask: Mask;
}): Promise<SystemReport> {
  const { redis, server, queue, skills, limits, threads, mask } = options;
  const [depth, present, library, unreadable, sizes, auditProblems, processes, changes] = await Promise.all([
    queue.depth(),
    readWorkers(redis),
    skills.current(),
    listUnreadable(redis),
    readSizes(redis),
    listAuditProblems(redis),
    readConfigurations(redis),
    readChanges(redis),
  ]);
  const withTitles = (lists: ListSize[]) => Promise.all(lists.map((list) => withTitle(list, threads)));
  const workers = present.toSorted((a, b) => a.startedAt - b.startedAt);
  const warnings = [...server.warnings, ...auditProblems, ...unreadable];
  return {
    redis: { kind: server.kind, describe: mask(server.describe), warnings: warnings.map(mask) },
    queue: depth,
    storage: {
      ...sizes,
      journals: await withTitles(sizes.journals),
      mailboxes: await withTitles(sizes.mailboxes),
    },
    workers: await Promise.all(workers.slice(0, shownWorkers).map((worker) => addTitles(worker, threads))),
    configuration: {
      processes: processes.map((one) => ({
        ...one,
        ...(one.problem !== undefined && { problem: mask(one.problem) }),
      })),
      problems: findConfigurationProblems(processes).map(mask),
      changes: changes.map((change) => ({
        ...{ setting: change.setting, of: change.of, at: change.at },
        value: makeExcerpt(formatChange(change), mask, changeChars).text,
        by: mask(change.by.name),
      })),
    },
    limits: limitsInWords(limits),
    skills: library.skills.map(({ name, description }) => ({ name, description: mask(description) })),
    skillProblems: library.problems.map(({ path, reason }) => ({ path, reason: mask(reason) })),
  };
}

async function addTitles(worker: WorkerReport, threads: Pick<ThreadIndex, "find">): Promise<WorkerReport> {
  const running = worker.running.map(async (turn, index) => {
    const title = index < titledTurns ? (await threads.find(turn.thread))?.title : undefined;
    return { ...turn, ...(title && { title }) };
  });
  return { ...worker, running: await Promise.all(running) };
}

async function withTitle(list: ListSize, threads: Pick<ThreadIndex, "find">): Promise<StoredList> {
  const title = (await threads.find(list.thread))?.title;
  return { ...list, ...(title && { title }) };
}

function limitsInWords(limits: SandboxLimits): SystemReport["limits"] {
  return [
    { name: "Time of a command", value: `${limits.commandMs / 1_000} s` },
    { name: "Time of a background job", value: `${limits.jobMs / 60_000} min` },
    { name: "Memory of a command", value: mebibytes(limits.memoryBytes) },
    { name: "Processes of a command", value: String(limits.processes) },
    { name: "CPUs of a command", value: String(limits.cpus) },
    { name: "Largest file", value: mebibytes(limits.fileBytes) },
    { name: "Files of a thread", value: mebibytes(limits.workspaceBytes) },
    { name: "Background jobs of a thread", value: String(limits.jobsPerThread) },
  ];
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1_048_576).toLocaleString("en-US")} MiB`;
}
