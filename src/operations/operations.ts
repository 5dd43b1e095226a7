import type { Question } from "../agent/questions.ts";
import type { ThreadId } from "../chat/threads.ts";
import type { ExportFormat } from "./threads/export.ts";
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
import type { HeardMessages } from "./installation/heard.ts";
import type { ThreadManager } from "./threads/manage.ts";
import type { Figures, SettingsReport, UsageReport, SystemReport } from "./reports.ts";
import type { InnerCallList, TimelinePage, TransientEvent } from "./timeline/timeline-entry.ts";

/**
 * What the console shows an operator beside the conversations: contracts, kept by whoever starts the console.
 * Every text in them is already masked, and none is longer than its page needs.
 */
export interface Operations {
  threads: ThreadIndex;
  calls: CallIndex;
  outlines: ThreadOutlines;
  /** What agents ask people and nobody has decided, on all platforms or in that thread. */
  questions(thread?: ThreadId): Promise<QuestionLine[]>;
  /** What no turn of that thread has taken, in order. */
  waiting(thread: ThreadId): Promise<WaitingLine[]>;
  /** All that goes on only when a person does something, those first whose time is over first. */
  needs(): Promise<NeedLine[]>;
  heard: HeardMessages;
  manage: ThreadManager;
  /** A thread as a document, in pieces. */
  export(line: ThreadLine, format: ExportFormat): AsyncIterable<string>;
  usage(days: number): Promise<UsageReport>;
  system(): Promise<SystemReport>;
  /** What is configured and in force. */
  settings(): Promise<SettingsReport>;
  /**
   * The newest entries of the audit log that are asked for.
   *
   * @param mayRead whether whoever asks may see what was said in a thread, which beginnings of commands tell
   */
  audit(query: AuditQuery, mayRead: (thread: ThreadId) => boolean): Promise<AuditPage>;
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

/** An open question. Times are milliseconds since the epoch. */
export interface QuestionLine {
  id: string;
  thread: ThreadId;
  platform: string;
  kind: Question["kind"];
  tool: string;
  /** Why a call needs approval, or what the agent asks. */
  text: string;
  /** All of the call, without a hidden character; empty for a question of the agent's own. */
  call: string;
  /** What there is to know about how the call is shown; often empty. */
  note: string;
  /** What can be chosen; none for an approval, and for a question that is answered in words. */
  choices: string[];
  /** What can be approved for the whole thread, e.g. `git push*`; often empty. */
  forThread: string[];
  requester: string;
  /** Nobody but the requester can decide it, since it is about an account of theirs. */
  isOwners: boolean;
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
