import type { ThreadId } from "../chat/threads.ts";
import type { AuditFact } from "../telemetry/audit/fact.ts";

/** What operators look for among all threads and in the audit log, and what they find. */

/** Which threads are wanted: what is absent does not matter. Times are ms since the epoch. */
export interface ThreadQuery {
  /** Each has to be in the title, the place, the author's name or the id. */
  words?: string | undefined;
  state?:
    | "running"
    | "asking"
    | "waiting"
    | "paused"
    | "answered"
    | "silent"
    | "stopped"
    | "failed"
    | "archived"
    | undefined;
  platform?: string | undefined;
  /** `platform:workspace:channel`. */
  channel?: string | undefined;
  /** The name of who began it. */
  person?: string | undefined;
  /** `provider/model`. */
  model?: string | undefined;
  /** Active from then on. */
  since?: number | undefined;
  /** Active before then. */
  until?: number | undefined;
  /** US dollars. */
  minCost?: number | undefined;
  sort?: "newest" | "oldest" | "cost" | undefined;
  offset?: number | undefined;
  limit: number;
}

export interface ThreadPage {
  lines: ThreadLine[];
  /** Of the first of these lines among those found. */
  offset: number;
  found: number;
  /** Threads that there are; those in the archive count where they are asked for. */
  all: number;
  /** Of all that were found; `cost` in US dollars. */
  totals: { cost: number; running: number; asking: number; waiting: number };
}

/** What threads can be filtered by, the most frequent first. */
export interface ThreadFacets {
  platforms: string[];
  channels: { id: string; name: string }[];
  people: string[];
  models: string[];
}

/** A thread in which something was said, and what. */
export interface SaidLine {
  line: ThreadLine;
  excerpt: string;
}

export interface SearchPage {
  found: SaidLine[];
  /** Threads that were looked into. */
  looked: number;
  /** Where to go on; absent when nothing is left. */
  next?: SearchCursor;
}

/** A position in a thread's journal, and the thread's place among the others. */
export interface SearchCursor {
  activeAt: number;
  thread: ThreadId;
  position: number;
}

export type AuditKind = AuditFact["what"];

/** Which entries are wanted: what is absent does not matter. Times are ms since the epoch. */
export interface AuditQuery {
  /** Only those before this number. */
  before?: number | undefined;
  thread?: string | undefined;
  /** `platform:workspace:channel`. */
  channel?: string | undefined;
  /** A part of a name. */
  person?: string | undefined;
  what?: string | undefined;
  /** How the turn or call has ended, or what was decided, as the entry has it. */
  state?: string | undefined;
  /** `provider/model`, of a turn that has ended. */
  model?: string | undefined;
  since?: number | undefined;
  until?: number | undefined;
  /** Of a turn that has ended, US dollars. */
  minCost?: number | undefined;
}

export interface AuditPage {
  lines: AuditLine[];
  /** What to ask for next; absent at the beginning of the log. */
  before?: number;
}

/** One entry of the audit log; `rest` is what its kind tells besides. */
export interface AuditLine {
  /** Its number; each has one, in order. */
  n: number;
  at: number;
  what: string;
  by: string;
  thread: ThreadId;
  /** The thread's platform and channel, by its name where that is known. */
  place: string;
  /** Of the thread, where it is known. */
  title?: string;
  rest: Excerpt;
  /** Ids and digests: for proofs, and seldom for people. */
  ids: { name: string; value: string }[];
}

export interface ThreadLine {
  thread: ThreadId;
  platform: string;
  /** The name of the channel, where it is known. */
  channel?: string;
  /** Who began it. */
  author: string;
  /** Empty when it was begun without a word. */
  title: string;
  /** `asking`: its turn waits for what people decide. */
  state: "running" | "asking" | "waiting" | "idle";
  /** Among those that wait, 1 is the next. */
  place?: number;
  /** How the last turn ended; what a limit has ended can be gone on with. */
  ended?: Ending;
  /** The limit that has ended it. */
  limit?: string;
  /** Put away: it is listed only where that is asked for, until somebody writes there. */
  archived?: true;
  /** `provider/model` that replied last. */
  model?: string;
  /** Milliseconds since the epoch. */
  activeAt: number;
  /** Of the turns that have ended, US dollars. */
  cost?: number;
}

export type Ending = "answered" | "silent" | "stopped" | "paused" | "refused" | "failed" | "handed-over";

/** The beginning of a text, and how many characters are left out. */
export interface Excerpt {
  text: string;
  omitted: number;
}
