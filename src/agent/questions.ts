import { randomUUID } from "node:crypto";
import type { AskingRule, MissingAccount, ShownFile } from "./policy-decision.ts";
import type { InputRequest } from "./server-input.ts";
import type { Speaker, ToolCall, ToolMessage } from "./messages.ts";

/**
 * What people are asked before a call may go on. The turn ends as `waiting` while nobody has decided: it holds no
 * worker, and whoever runs the agent starts it again with the decision in the journal.
 */
export type Asking =
  /**
   * Whether the call may run. `why`: the operator's words, or the tool's. `changed`: files that differ since it was
   * approved before. `file`: what to read first. `rules`: what can be approved for the whole thread instead.
   * `owner`: it is about an account of the requester's, who alone can approve it; with `also`, only where the requester
   * may approve calls at all, since the operator's rules ask too.
   */
  | {
      kind: "approval";
      why: string;
      changed?: string[];
      file?: ShownFile;
      rules?: readonly AskingRule[];
      owner?: "alone" | "also";
    }
  /** The requester is to connect an account of theirs: approved once that is done, by nobody else. */
  | ({ kind: "account" } & MissingAccount)
  /** What an MCP server wants to know of the requester, who alone answers it: with the JSON of an `InputAnswer`. */
  | { kind: "input"; request: InputRequest }
  /** The agent's own question. Without choices the answer is free text. */
  | { kind: "choice"; text: string; choices: string[] };

export type Question = Asking & {
  /** Unique in the thread, letters and digits only; those of one step sort in their order. */
  id: string;
  callId: string;
  tool: string;
  /** Whose task it is: the person who began the turn. */
  requester: Speaker;
  /** Milliseconds since the epoch, as `expiresAt`. */
  askedAt: number;
  expiresAt: number;
  /** Files that the call names: a decision is about the call with these as they are. Absent in what an older Heddle has asked. */
  files?: NamedFile[];
};

/** A file of the workspace, by the SHA-256 of what is in it (hex). */
export interface NamedFile {
  path: string;
  sha256: string;
}

/** How a question ended. `at`: when, by the platform's clock where a person decided, ms. */
export type Decision =
  /** `rules`: whatever else these ask about is approved in the thread, too. */
  | { kind: "approved"; by: Speaker; at: number; rules?: readonly AskingRule[] }
  | { kind: "denied"; by: Speaker; reason?: string; at: number }
  /** Without a text the answer is a message of the thread, which the model reads next. */
  | { kind: "answered"; by: Speaker; text?: string; at: number }
  | { kind: "expired"; at: number }
  /** The platform has refused to put it to people. */
  | { kind: "unasked"; why: string; at: number };

/** Whether nobody but the requester can decide it, since it is about an account of theirs. */
export function isOnlyRequesters({ kind, owner }: Pick<Question, "kind"> & { owner?: unknown }): boolean {
  return kind === "account" || kind === "input" || owner !== undefined;
}

/** What is asked, in one sentence, or why. */
export function describeQuestion(question: Question): string {
  switch (question.kind) {
    case "approval":
      return question.why;
    case "account":
      return `${question.requester.name} is to connect an account at ${question.server} (${question.host}).`;
    case "input":
      return `${question.request.server} asks: ${question.request.message}`;
    case "choice":
      return question.text;
  }
}

/** Makes the questions of one step. @param openMs how long each stays open */
export function createAsker(
  requester: Speaker,
  openMs: number,
  now: () => number,
): (call: ToolCall, asking: Asking, files?: NamedFile[]) => Question {
  const step = randomUUID().slice(0, 8);
  let made = 0;
  return (call, asking, files) => {
    const id = `${step}${String(made++).padStart(3, "0")}`;
    const askedAt = now();
    const expiresAt = askedAt + openMs;
    const question = { ...asking, id, callId: call.id, tool: call.name, requester, askedAt, expiresAt };
    return files ? { ...question, files } : question;
  };
}

/** The result of a call that the decision has ended; undefined when the call is to run. */
export function answerWithoutRun(call: ToolCall, decision: Decision): ToolMessage | undefined {
  const text = explainRefusal(decision);
  if (text === undefined) return undefined;
  const notRun = decision.kind === "denied" ? "denied" : "undecided";
  return { role: "tool", callId: call.id, name: call.name, status: "error", notRun, text };
}

function explainRefusal(decision: Decision): string | undefined {
  switch (decision.kind) {
    case "approved":
    case "answered":
      return undefined;
    case "denied":
      return `DENIED by ${decision.by.name}; it was not run. ${decision.reason ? `The reason: ${decision.reason}` : "No reason was given."}`;
    case "unasked":
      return `People could not be asked, so it was not run: ${decision.why} Go on without it, or say in your answer what is still to be decided.`;
    case "expired":
      return "Nobody answered in time, so it was not run. Go on without it, or say in your answer what is still to be decided.";
  }
}
