import type { ThreadId } from "../chat/threads.ts";
import type {
  AuditPage,
  AuditQuery,
  SearchCursor,
  SearchPage,
  ThreadFacets,
  ThreadPage,
  ThreadQuery,
  Ending,
  Excerpt,
  ThreadLine,
} from "./finding.ts";
import type { ExportFormat } from "./export.ts";
import type { ThreadManager } from "./manage.ts";
import type { Problem } from "../sandbox/sandbox.ts";

export type { Ending, Excerpt, ThreadLine } from "./finding.ts";

/**
 * What the console shows an operator beside the conversations: contracts, kept by whoever starts the console.
 * Every text in them is already masked, and none is longer than its page needs.
 */
export interface Operations {
  threads: ThreadIndex;
  calls: CallIndex;
  outlines: ThreadOutlines;
  /** What agents ask people and nobody has decided, on all platforms. */
  questions(): Promise<QuestionLine[]>;
  /** What no turn of that thread has taken, in order. */
  waiting(thread: ThreadId): Promise<WaitingLine[]>;
  /** All that goes on only when a person does something, those first whose time is over first. */
  needs(): Promise<NeedLine[]>;
  manage: ThreadManager;
  /** A thread as a document, in pieces. */
  export(line: ThreadLine, format: ExportFormat): AsyncIterable<string>;
  usage(days: number): Promise<UsageReport>;
  system(): Promise<SystemReport>;
  /** The newest entries of the audit log that are asked for. */
  audit(query: AuditQuery): Promise<AuditPage>;
}

/** The threads of all platforms. */
export interface ThreadIndex {
  /** Those that are asked for, and what there is to ask for. */
  query(query: ThreadQuery): Promise<ThreadPage & { facets: ThreadFacets }>;
  /** Looks through what was said in the threads that are asked for. */
  search(query: Omit<ThreadQuery, "sort" | "offset" | "limit">, after?: SearchCursor): Promise<SearchPage>;
  /** What threads are called. */
  titles(): Promise<ReadonlyMap<ThreadId, string>>;
  /** Those that wait for people: with open questions, or paused by a limit since then (ms since the epoch). */
  waiting(since: number): Promise<ThreadLine[]>;
  find(thread: ThreadId): Promise<ThreadLine | undefined>;
  /** At most a page of a thread's timeline: before or from a position, else its end. */
  timeline(thread: ThreadId, where: { before?: number; from?: number }): Promise<TimelinePage>;
  /** What a press of the Continue button would name; undefined when there is nothing to go on with. */
  paused(thread: ThreadId): Promise<{ action: string; message: string } | undefined>;
  /** Calls back when the list may have changed; returns how to end it. */
  watchAll(onChange: () => void): () => void;
  /** Calls back with what happens in a thread; `null`: its timeline has grown, or may have. */
  watch(thread: ThreadId, onNews: (news: TransientEvent | null) => void): () => void;
}

/** Finding one's way in a thread's journal. */
export interface ThreadOutlines {
  outline(thread: ThreadId): Promise<Outline>;
  /** The first records whose masked text has this in it, in whatever case. */
  search(thread: ThreadId, query: string): Promise<{ found: FoundRecord[]; hasMore: boolean }>;
  /** What took the time of a turn, the last spans. */
  spans(thread: ThreadId, turn: string): Promise<TurnSpan[]>;
}

/** The newest turns and failures; positions are those of records. */
export interface Outline {
  turns: OutlineTurn[];
  failures: number[];
  /** Records in the journal. */
  length: number;
}

/** `title`: the beginning of its first message; the rest where it has ended. */
export interface OutlineTurn {
  turn: string;
  position: number;
  at: number;
  title: string;
  ended?: Ending;
  tookMs?: number;
  figures?: Figures;
}

export interface FoundRecord {
  position: number;
  excerpt: string;
}

/** `from` and `to`: ms since the epoch. */
export interface TurnSpan {
  kind: "model" | "tool" | "waiting";
  name: string;
  position: number;
  from: number;
  to: number;
  isFailed: boolean;
  /** Of a model call. */
  step?: number;
  figures?: Figures;
}

/** The tool calls of a thread's turns. */
export interface CallIndex {
  /** Those of a turn in their order, without changes of its plan; empty where there is no such turn. */
  list(thread: ThreadId, turn: string): Promise<CallList>;
  /** The call of a model's reply at that position of the journal. */
  find(thread: ThreadId, position: number, index: number): Promise<CallDetails | undefined>;
}

export interface CallList {
  calls: CallLine[];
  /** How many there were before them. */
  omitted: number;
}

interface CallDescription {
  name: string;
  arguments: Excerpt;
  /** Ms since the epoch; absent until it is started. */
  startedAt?: number;
  /** Absent until it has ended, as is `tookMs`. */
  status?: string;
  /** Of a command that has failed. */
  exit?: string;
  tookMs?: number;
}

export interface CallLine extends CallDescription {
  /** Its place in the journal: `POSITION.INDEX`. */
  key: string;
  /** What the model's service calls it; not always unique. */
  id: string;
}

export interface CallDetails extends CallDescription {
  result?: Excerpt;
  images?: number;
  figures?: Figures;
  inner?: InnerCallList;
}

/** What a sub-agent did in a call, the last calls; `omitted` says how many were before them. */
export interface InnerCallList {
  calls: InnerCall[];
  omitted: number;
}

/** An open question. Times are milliseconds since the epoch. */
export interface QuestionLine {
  id: string;
  thread: ThreadId;
  platform: string;
  kind: "approval" | "choice";
  tool: string;
  /** Why a call needs approval, or what the agent asks. */
  text: string;
  /** All of the call, without a hidden character; empty for a question of the agent's own. */
  call: string;
  /** What there is to know about how the call is shown; often empty. */
  note: string;
  /** What can be chosen; none for an approval, and for a question that is answered in words. */
  choices: string[];
  requester: string;
  /** The platform's id of the requester. */
  requesterId: string;
  /** Who may decide besides an operator: a name, `everyone` or `administrators`. */
  decides: string;
  since: number;
  until: number;
}

/** A message that no turn has taken. */
export interface WaitingLine {
  id: string;
  /** What `!queue` calls it; absent for those that an older Heddle has accepted. */
  name?: string;
  author: string;
  text: Excerpt;
  /** When it was written, ms. */
  at: number;
  scheduled?: true;
}

/** What a thread waits for: a decision, or that somebody continues what a limit has paused. */
export interface NeedLine {
  /** Of the question, or of the thread that is paused. */
  id: string;
  line: ThreadLine;
  question?: QuestionLine;
}

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

interface TimelineCall {
  id: string;
  name: string;
  arguments: Excerpt;
}

interface InnerCall {
  name: string;
  arguments: Excerpt;
  status: string;
  /** Of a command that has failed. */
  exit?: string;
  text: Excerpt;
  tookMs: number;
}

/** One record of a thread's journal. `position` orders and names it; times are ms since the epoch. */
export type TimelineEntry = { position: number; at?: number } & (
  | { kind: "turn-start"; turn: string }
  | { kind: "message"; id: string; author: string; text: Excerpt; images: number }
  | { kind: "enclosure"; text: Excerpt; images: number }
  | { kind: "question"; id: string; tool: string; text: Excerpt }
  /** `decision` in one word, `by` whoever decided. */
  | { kind: "decision"; question: string; decision: string; by: string; text: Excerpt }
  | { kind: "withdrawn"; id: string }
  /** `text`: why it cannot be read. */
  | { kind: "unreadable"; text: Excerpt }
  | { kind: "nudge"; text: Excerpt }
  | {
      kind: "model";
      step: number;
      model: string;
      text: Excerpt;
      thinking: Excerpt;
      /** Retries and changes of model, one a line. */
      troubles: Excerpt;
      calls: TimelineCall[];
      stop: string;
      figures: Figures;
      /** From the record before, retries included; absent where that has no time. */
      tookMs?: number;
    }
  | { kind: "tool-start"; call: string }
  | {
      kind: "tool-result";
      call: string;
      name: string;
      status: string;
      /** Of a command that has failed. */
      exit?: string;
      text: Excerpt;
      images: number;
      tookMs: number;
      /** Of the models that the tool itself has called. */
      figures?: Figures;
      inner?: InnerCallList;
    }
  /** Sizes are tokens of the next request. */
  | { kind: "trim"; calls: number; before?: number; after?: number }
  | { kind: "summary"; text: Excerpt; kept: number; figures: Figures; before?: number; after?: number }
  | {
      kind: "turn-end";
      turn: string;
      ended: Ending;
      detail: string;
      text: Excerpt;
      steps: number;
      figures: Figures;
    }
);

export interface TimelinePage {
  entries: TimelineEntry[];
  /** Position of the first record looked at; 0 when there is nothing before. */
  from: number;
  /** Records in the journal. */
  length: number;
}

/** What is said about a turn at this moment and stored nowhere. */
export interface TransientEvent {
  kind: "step" | "retry" | "notice";
  text: string;
}

export interface UsageReport {
  timeZone: string;
  /** The latest first; days without use are in it. */
  days: ({ day: string; turns: number } & Figures & Opinions)[];
  /** Of all days together, the dearest first; the rest as one. */
  channels: UsageShare[];
  users: UsageShare[];
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
  dimension: "all" | "channel" | "user";
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
  running: { thread: ThreadId; since: number; title?: string }[];
  sandbox: { ok: boolean; summary: string; problems: Problem[] };
  mcp: { server: string; state: string; tools: string[]; problem?: string }[];
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
