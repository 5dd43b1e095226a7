import type {
  AssistantMessage,
  SummaryMessage,
  ToolCall,
  ToolMessage,
  NotRun,
  ToolStatus,
  UserMessage,
} from "./messages.ts";
import type { Usage } from "./model.ts";
import type { Question } from "./questions.ts";
import type { BudgetExhausted } from "./contracts/turn-budget.ts";

/**
 * Everything that a running turn reports: the whole contract between the loop and what shows or stores it. `runTurn`
 * is a generator, so the loop goes on only when the consumer asks for the next event: a consumer that stores an event
 * before it asks again gets "persist, then act" for free.
 *
 * `assistant`, `tool-start`, `tool-end`, `question`, `nudge`, `trim` and `summary` must be stored, in their order (see
 * `toRecord` in `history.ts`). The others are for live display and may be dropped. Times are in milliseconds.
 *
 * A step in which the model says something and calls one tool:
 *
 * ```ts
 * { type: "step-start", step: 1 }
 * { type: "text-delta", step: 1, delta: "Let me look." }
 * { type: "assistant", step: 1, message, usage } // stored
 * { type: "tool-start", step: 1, call } // stored before the tool runs
 * { type: "tool-end", step: 1, message: result, durationMs: 12 } // stored before step 2
 * ```
 */
export type AgentEvent =
  | StepEvent
  | { type: "text-delta"; step: number; delta: string }
  | { type: "thinking-delta"; step: number; delta: string }
  | CallEvent
  /** What a sub-agent does in the turn's call `callId`. Each of its own calls is reported before its tool runs. */
  | { type: "helper"; callId: string; event: StepEvent | CallEvent }
  /** Live output of a running tool, already masked; may be dropped under load. */
  | { type: "tool-output"; callId: string; chunk: string }
  /** People must decide before the call goes on; the turn then ends as `waiting`. */
  | { type: "question"; step: number; question: Question; call: ToolCall }
  /** Messages that people wrote during the turn and that the next step will see. */
  | { type: "follow-up"; messages: UserMessage[] }
  /** What the loop itself says to the model. */
  | { type: "nudge"; message: UserMessage }
  /** Old tool results were cut short for the model; sizes are tokens of the next request. */
  | { type: "trim"; callIds: string[]; before: number; after: number }
  /** Older messages were replaced by a summary. */
  | { type: "summary"; message: SummaryMessage; keep: number; usage: Usage; before: number; after: number }
  /** Something that people in the thread should know, in one sentence. */
  | { type: "notice"; text: string };

/** The start and the end of a model call, and the retries between them. */
export type StepEvent =
  /** What an earlier call of the same step has streamed is void. */
  | { type: "step-start"; step: number }
  /** What the call has streamed so far is void. */
  | { type: "retry"; step: number; attempt: number; delayMs: number; reason: string }
  /** `troubles`: for each attempt of the call that broke off a sentence that says why, and what was done about it. */
  | { type: "assistant"; step: number; message: AssistantMessage; usage: Usage; troubles?: string[] };

/**
 * The start and the end of a tool call. `usage`: of the models that the tool itself called; `inner`: what a sub-agent
 * did in it.
 */
export type CallEvent =
  | { type: "tool-start"; step: number; call: ToolCall }
  | {
      type: "tool-end";
      step: number;
      message: ToolMessage;
      durationMs: number;
      usage?: Usage;
      inner?: InnerCalls;
    };

/** What a sub-agent did, kept with the result of the call that started it: for people who look. No model reads it. */
export interface InnerCalls {
  /** The last ones. */
  calls: InnerCall[];
  /** How many there were before them. */
  omitted: number;
}

export interface InnerCall {
  name: string;
  /** The beginning of its arguments, as JSON. */
  input: string;
  /** `unknown` also when the sub-agent ended before it. */
  status: ToolStatus;
  notRun?: NotRun;
  /** The beginning of its result. */
  text: string;
  durationMs: number;
}

/** Who stopped a turn; `at` is the platform's time of the stopping message in milliseconds. */
export interface StopOrder {
  by: string;
  at: number;
  /** Its place among the messages and stops of its thread, see `UserMessage`. */
  seq?: number;
  /** When it was recorded, by the clock that all processes share, ms. */
  heardAt?: number;
  /** What is left of a thread that was deleted: nobody is told what it has ended. */
  deleted?: true;
}

/**
 * How a turn ended. `usage` covers the whole turn, resumed parts included.
 *
 * - `answered`: the model finished; `text` is its answer. `silent`: it has decided to say nothing, and `text` is "".
 * - `stopped`: somebody stopped it. `said`: what the model was saying then, without an end.
 * - `step-limit`, `budget`: a limit ended it; `text` is a summary of what was done, or "" when
 *   nothing was said, and it can be continued.
 *   `usedUp`: it was the budget of a day, and not a limit of the turn.
 * - `refused`: the model declined, or its service's content filter did. Later turns do not see this one (see
 *   `replay`).
 * - `model-error`: the model could not be reached or made no sense; `text` is safe to show.
 * - `waiting`: a call waits for people; the turn is run again with the same journal when they have decided.
 * - `suspended`: the worker shuts down; another one resumes the turn from the journal.
 * - `lost-lease`: another worker owns the session; nothing may be posted.
 */
export type TurnOutcome =
  | { kind: "answered"; text: string; silent?: true; steps: number; usage: Usage }
  | { kind: "stopped"; order: StopOrder; said?: string; steps: number; usage: Usage }
  | {
      kind: "step-limit" | "budget";
      text: string;
      limit: string;
      usedUp?: BudgetExhausted;
      steps: number;
      usage: Usage;
    }
  | { kind: "refused" | "model-error"; text: string; steps: number; usage: Usage }
  | { kind: "waiting" | "suspended" | "lost-lease"; steps: number; usage: Usage };

/** Why a turn's signal was aborted. It is the signal's `reason`. */
export type TurnAbort = { kind: "stop"; order: StopOrder } | { kind: "shutdown" } | { kind: "lost-lease" };

/** Why that signal was aborted. Another reason, as `abort()` and `AbortSignal.timeout` give, is taken for a shutdown. */
export function readAbort({ reason }: { reason: unknown }): TurnAbort {
  const kind = typeof reason === "object" && reason !== null && "kind" in reason && reason.kind;
  return kind === "stop" || kind === "lost-lease" ? (reason as TurnAbort) : { kind: "shutdown" };
}
