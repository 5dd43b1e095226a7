import type { Usage } from "../model.ts";
import type { AssistantMessage, Image, SummaryMessage, ToolMessage, UserMessage } from "../messages.ts";
import type { InnerCalls, TurnOutcome } from "../events.ts";
import type { Decision, Question } from "../questions.ts";

/**
 * The records of a session's append-only log. Whoever runs the agent stores them in this order and never
 * changes or removes one; the agent's whole state follows from reading them again (see `history.ts`).
 * Times are milliseconds since the epoch.
 */
export type JournalRecord =
  | { type: "turn-start"; turn: string; at: number }
  /** A person's message. The mailbox holds these very records, so that taking one is a move, not a rewrite. */
  | { type: "user"; message: UserMessage }
  /** What came with the user message `message`, looked at: what the model reads of it. */
  | { type: "enclosure"; message: string; beside: string; images?: Image[]; at: number }
  /** The user message with this id was taken back before any model saw it. */
  | { type: "withdrawn"; id: string; reason: "stopped" }
  /** What the loop itself tells the model, e.g. to go on after a cut reply. */
  | { type: "nudge"; message: UserMessage }
  /** `troubles` as in `AgentEvent`. */
  | {
      type: "assistant";
      step: number;
      message: AssistantMessage;
      usage: Usage;
      troubles?: string[];
      at: number;
    }
  /** Written before the tool runs. A start without a result is never run again: its outcome is unknown. */
  | { type: "tool-start"; callId: string; at: number }
  | {
      type: "tool-result";
      message: ToolMessage;
      durationMs: number;
      usage?: Usage;
      inner?: InnerCalls;
      at: number;
    }
  /** A call waits for what people decide. */
  | { type: "question"; question: Question; at: number }
  /** Written by whoever runs the agent, for the question of this id. */
  | { type: "decision"; question: string; decision: Decision; at: number }
  /** The results of these calls are shown to the model in short from here on. Sizes as in `AgentEvent`. */
  | { type: "trim"; callIds: string[]; before?: number; after?: number; at: number }
  /** All messages but the last `keep` are replaced, for the model, by the summary. */
  | {
      type: "summary";
      message: SummaryMessage;
      keep: number;
      usage: Usage;
      before?: number;
      after?: number;
      at: number;
    }
  | { type: "turn-end"; turn: string; outcome: TurnOutcome; at: number }
  /**
   * Never written: a reader puts it in the place of a record that it cannot read, so that all others keep their
   * positions. `why` is for people.
   */
  | { type: "unreadable"; why: string };

/** Records in a row, as one piece of a journal that is read in pieces. */
export interface JournalPiece {
  records: JournalRecord[];
  /** The position of the first, counted from 0; a position never changes. */
  from: number;
  /** How large they are as they are stored. */
  chars: number;
}

/** Reads a session's journal in pieces, which are small whatever its length. */
export interface JournalReader {
  /** The records from the position `from` on, oldest first. */
  forward(from: number): AsyncIterable<JournalPiece>;
  /** The records before the position `before`, the newest piece first; within a piece they are oldest first. */
  backward(before?: number): AsyncIterable<JournalPiece>;
}
