import type { ContextWindow } from "../context/compaction.ts";
import type { History } from "../journal/history.ts";
import type { JournalReader } from "../journal/journal.ts";
import type { UserMessage } from "../messages.ts";
import type { LanguageModel } from "../model.ts";
import type { Dispatcher } from "../tools/dispatch/dispatch.ts";
import type { SharedBudget, TurnLimits } from "./limits.ts";
import type { ReadProjectInstructions } from "./prompt/project-instructions.ts";
import type { Situation } from "./prompt/situation.ts";

/**
 * Everything that one run of the agent needs. Times are in milliseconds.
 *
 * ```ts
 * const turn: Turn = {
 *   id: "turn-1",
 *   history: replay(records), // resumes the turn that is still open in the journal, if any
 *   model,
 *   tools: createDispatcher({ tools: [add], services, masker, onError: console.error }),
 *   system: "You are brief.",
 *   context: createContextWindow({ model, counter }),
 *   signal: AbortSignal.any([]), // never aborted: this turn cannot be stopped
 * };
 * ```
 */
export interface Turn {
  /** Unique in the session; the ids of the loop's own messages begin with it. */
  id: string;
  /** The session so far. With an open turn in it, this run resumes where that one was interrupted. */
  history: History;
  model: LanguageModel;
  tools: Dispatcher;
  /** The system prompt. Keep it the same for the whole session: each change voids the provider's prompt cache. */
  system: string;
  context: ContextWindow;
  /** Default: `defaultTurnLimits`. */
  limits?: TurnLimits;
  /** For a sub-agent: what the turn above it may still spend. Used up, it ends this turn as a limit of its own does. */
  budget?: SharedBudget;
  /**
   * Asked for between steps: tools and system prompt, where they have changed since the last time. A rejection ends the
   * turn with that error.
   */
  renew?(): Promise<TurnOffer | undefined>;
  /**
   * Messages that have arrived since the last call, asked for between steps. They must be stored when this resolves.
   * A rejection ends the turn with that error.
   */
  followUps?(): Promise<UserMessage[]>;
  /**
   * The notes on record, as `formatNoteIndex` lists them. Asked for once, before the first step. Resolves with
   * undefined when they cannot be read; a rejection ends the turn with that error.
   */
  readNoteIndex?(): Promise<string | undefined>;
  /** Asked before each step. Default: projects say nothing. */
  readProjectInstructions?: ReadProjectInstructions;
  /** What a turn is told of time and place beside the people's messages. Default: nothing. */
  situation?: Situation;
  /** What to do with what is said without addressing the agent, in the operator's words. Default: what helps. */
  watch?: string;
  /** How long a question to people stays open. Without it nobody can be asked: what needs an approval is denied. */
  questionMs?: number;
  /** Aborted with a `TurnAbort` as its reason. Any other suspends the turn, as a shutdown does. */
  signal: AbortSignal;
  /**
   * Wraps each model that the turn calls, so that its calls are charged to the turn's budget (see `createMeteredModel`).
   * Default: no metering.
   */
  meter?(model: LanguageModel): LanguageModel;
  /** Where the session's records are kept: a summary says where what it leaves out of people's messages can be read. */
  journal?: JournalReader;
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?(): number;
}

/** What the model is given besides the conversation. */
export type TurnOffer = Pick<Turn, "tools" | "system">;
