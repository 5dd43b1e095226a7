import type { Redis } from "ioredis";
import type { BudgetSettings, DayBudget } from "../queue/budgets/budgets.ts";
import { createLiveFeed } from "../queue/outbox/live-events.ts";
import type { RedisServer } from "../queue/redis/server.ts";
import type { TurnQueue } from "../queue/turns/wake-queue.ts";
import type { SandboxLimits } from "../sandbox/limits.ts";
import { reportAudit } from "./installation/audit.ts";
import { createCallIndex } from "./timeline/calls.ts";
import type { ThreadAuditEvent } from "../telemetry/audit/fact.ts";
import type { Mask } from "./excerpt.ts";
import { exportThread } from "./threads/export.ts";
import type { WorkspaceFiles } from "./threads/files.ts";
import { openHeardMessages } from "./installation/heard.ts";
import { createThreadManager } from "./threads/manage.ts";
import type { Operations } from "./operations.ts";
import type { SettingsReport } from "./reports.ts";
import { reportSettings } from "./installation/settings.ts";
import { listNeeds } from "./questions/needs.ts";
import { createOutlines } from "./timeline/outline.ts";
import { type Approvers, listQuestions } from "./questions/questions.ts";
import { type ListedSkills, reportSystem } from "./installation/system.ts";
import { createThreadIndex } from "./threads/threads.ts";
import { reportUsage } from "./installation/usage.ts";
import { listWaitingLines } from "./threads/waiting.ts";

export interface OperationsOptions {
  redis: Redis;
  server: Pick<RedisServer, "kind" | "describe" | "warnings" | "connect">;
  queue: Pick<TurnQueue, "depth">;
  budgets: BudgetSettings;
  /** What triggers and watched channels may use in a day, by name. Default: none has a budget. */
  triggerBudgets?(): ReadonlyMap<string, DayBudget>;
  approvers(): Approvers;
  skills: ListedSkills;
  limits: SandboxLimits;
  /** What is configured and in force, without names of channels; masked here. */
  settings(): SettingsReport;
  auditFolder: string;
  files: Pick<WorkspaceFiles, "remove">;
  audit(event: ThreadAuditEvent): void;
  mask: Mask;
  now(): number;
  onError(error: unknown): void;
}

/** What the console shows an operator, from Redis and this process. */
export function openOperations(options: OperationsOptions): Operations & { close(): void } {
  const { redis, server, budgets, mask, now } = options;
  const feed = createLiveFeed(server.connect({ maxRetriesPerRequest: null }), options.onError);
  const threads = createThreadIndex({ redis, feed, mask });
  return {
    threads,
    calls: createCallIndex(redis, mask),
    outlines: createOutlines(redis, mask),
    questions: (thread) =>
      listQuestions(redis, options.approvers(), mask, now(), thread === undefined ? undefined : [thread]),
    waiting: (thread) => listWaitingLines(redis, thread, mask),
    needs: () => listNeeds(redis, threads, options.approvers(), mask, now()),
    heard: openHeardMessages(redis, feed, mask),
    manage: createThreadManager({ ...options, workspaces: options.files }),
    export: (line, format) => exportThread(redis, line, format, mask),
    usage: (days) =>
      reportUsage(
        { redis, budgets, triggers: options.triggerBudgets?.() ?? new Map(), mask, now: now() },
        days,
      ),
    system: () => reportSystem({ ...options, threads }),
    settings: () => reportSettings(redis, options.settings(), mask),
    audit: (query, mayRead) =>
      reportAudit({ redis, folder: options.auditFolder, mask, threads, mayRead }, query),
    close() {
      threads.close();
      feed.close();
    },
  };
}
