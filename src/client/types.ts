/**
 * What the API answers, as far as the client reads it. Answers may have more. A test holds these types to the schemas
 * that docs/openapi.json is made from.
 */

/** What became of a message, an answer or a stop. */
export type Result =
  | { kind: "accepted"; thread: string; position: number }
  | { kind: "duplicate" }
  | { kind: "stopping" | "amended" | "acted"; thread: string; reply?: string }
  | { kind: "ignored"; why: string }
  | { kind: "refused"; reply: string };

/** The beginning of a text, and how many characters are left out. */
export interface Excerpt {
  text: string;
  omitted: number;
}

export interface Line {
  /** `platform:workspace:channel:thread`. */
  thread: string;
  title: string;
  author: string;
  state: "running" | "asking" | "waiting" | "idle";
  /** How the last turn ended. */
  ended?: "answered" | "silent" | "stopped" | "paused" | "refused" | "failed" | "handed-over";
  /** Of the turns that have ended, US dollars. */
  cost?: number;
}

export interface Question {
  id: string;
  kind: "approval" | "account" | "input" | "choice";
  tool: string;
  text: string;
  call: string;
  choices: string[];
}

export interface Message {
  id: string;
  kind: "person" | "file" | "progress" | "question" | "answer" | "notice" | "receipt";
  /** Of Heddle's messages. */
  markdown?: string;
  /** Of a person's. */
  text?: string;
}

export interface Thread {
  line: Line;
  questions: Question[];
  messages: Message[];
}

/** A record of the thread's journal; each kind has fields of its own. */
export interface Entry {
  position: number;
  kind: string;
  at?: number;
  text?: Excerpt;
  /** Of the end of a turn. */
  ended?: NonNullable<Line["ended"]>;
  detail?: string;
}

export type ThreadEvent =
  | { event: "entries"; id: number; entries: Entry[] }
  | { event: "line"; line: Line | null }
  | { event: "passing"; kind: "step" | "retry" | "notice"; text: string };

export interface FileEntry {
  path: string;
  type: "file" | "directory" | "link" | "other";
  bytes: number;
}

export type Decision =
  | { decision: "approve"; forThread?: true }
  | { decision: "deny"; reason?: string }
  | { decision: "answer"; choice: number }
  | { decision: "answer"; text: string };
