import type { ThreadId } from "../chat/threads.ts";
import type { Problem } from "../sandbox/sandbox.ts";

/** What model calls have used; `input` excludes what was read from or written to a cache. */
export interface Figures {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** US dollars. */
  cost: number;
  calls: number;
  priceUnknown?: true;
}

export interface UsageReport {
  timeZone: string;
  /** The latest first; days without use are in it. */
  days: ({ day: string; turns: number } & Figures & Opinions)[];
  /** Of all days together, the dearest first; the rest as one. */
  channels: UsageShare[];
  users: UsageShare[];
  /** Of triggers by their names, and of watched channels as `watch:<channel>`. */
  triggers: UsageShare[];
  models: UsageShare[];
  budgets: BudgetLine[];
}

export interface UsageShare extends Figures, Opinions {
  /** Empty for those that are counted together. */
  id: string;
  name?: string;
  turns: number;
  /** Of each day, in the order of the days. */
  daily: { cost: number[]; tokens: number[]; turns: number[] };
}

/** How often people liked an answer or did not; counted for everybody together and for models. */
interface Opinions {
  liked: number;
  disliked: number;
}

export interface BudgetLine {
  dimension: "all" | "channel" | "user" | "trigger";
  id: string;
  name?: string;
  measure: "cost" | "tokens";
  limit: number;
  used: number;
  held: number;
}

/** `running`: since when, ms since the epoch; a title where the thread has one. */
export interface WorkerReport {
  host: string;
  pid: number;
  startedAt: number;
  /** Turns at once. */
  concurrency: number;
  model: string;
  /** Calls of models that failed lately, the last first, one of each model and message. Absent: an older version. */
  modelFailures?: ModelFailure[];
  running: { thread: ThreadId; since: number; title?: string }[];
  sandbox: { ok: boolean; summary: string; problems: Problem[] };
  mcp: { server: string; state: string; tools: string[]; problem?: string }[];
}

/** A call of a model that failed. */
export interface ModelFailure {
  model: string;
  /** What the thread was told. */
  message: string;
  /** What the service said, in its own words; may be empty. */
  detail: string;
  /** The last time, ms. */
  at: number;
  /** How often since the models were opened. */
  times: number;
}

/** What a process says of its configuration. */
export interface ProcessReport {
  host: string;
  pid: number;
  /** `gateway`, `worker`, or `gateway and worker`. */
  role: string;
  /** The same where the same files are in force. */
  hash: string;
  /** Since when it is in force, ms. */
  at: number;
  /** Why what the files say is not in force, in one sentence. */
  problem?: string;
  /** Settings that have changed and wait for a restart. */
  restart: readonly string[];
  /** The last `heddle reload` that it has answered. */
  asked?: string;
}

/** What of it is largest: some journals and mailboxes. Sizes are bytes. */
export interface StorageReport {
  memory?: { used: number; limit?: number };
  sessions: number;
  journals: StoredList[];
  mailboxes: StoredList[];
}

export interface StoredList {
  thread: ThreadId;
  title?: string;
  records: number;
  bytes?: number;
}

/** What is configured and in force, as the process that answers has it; no secret is in it. */
export interface SettingsReport {
  /** Where the settings come from; absent where there is no file. */
  file?: string;
  /** Of what is in force; the same in every process that has read the same. */
  hash: string;
  /** Since when it is in force, ms. */
  at: number;
  /** Why what the files say at the moment is not in force, in one sentence. */
  problem?: string;
  /** Settings that have changed and wait for a restart. */
  restart: readonly string[];
  /** What administrators have changed in chat and does not count. */
  ignored: { setting: string; of: string; why: string }[];
  settings: SettingLine[];
  /** Those of which something is said, with what holds there. */
  channels: { id: string; name?: string; settings: SettingLine[] }[];
}

/** `value` is empty where there is nothing. */
export interface SettingLine {
  name: string;
  value: string;
  from: SettingOrigin;
}

/** `everywhere`: what holds in a channel because it holds in all of which nothing else is said. */
export type SettingOrigin = "default" | "file" | "environment" | "chat" | "everywhere";

export interface SystemReport {
  redis: { kind: "url" | "system" | "embedded"; describe: string; warnings: string[] };
  queue: { waiting: number; active: number; delayed: number; failed: number };
  storage: StorageReport;
  workers: WorkerReport[];
  /** Every process that serves, with its configuration; `problems` is what to do something about. */
  configuration: {
    processes: ProcessReport[];
    problems: string[];
    /** What administrators have changed in chat. `of`: the person or the channel. */
    changes: { setting: string; of: string; value: string; by: string; at: number }[];
  };
  /** What commands may use, in words. */
  limits: { name: string; value: string }[];
  skills: { name: string; description: string }[];
  skillProblems: { path: string; reason: string }[];
}
