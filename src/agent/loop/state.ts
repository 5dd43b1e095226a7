import { joinFixed } from "../context/fixed-part.ts";
import type { TurnOutcome } from "../events.ts";
import { measureWorkedMs, type OpenCall } from "../journal/history.ts";
import { type AssistantMessage, type Message, toolCalls, type UserMessage } from "../messages.ts";
import { addUsage, type LanguageModel, noUsage, type Usage } from "../model.ts";
import type { CallOutcome, Dispatcher } from "../tools/dispatch/dispatch.ts";
import { defaultTurnLimits, type Spent, type TurnLimits } from "./limits.ts";
import type { Turn, TurnOffer } from "./turn.ts";

/** What a phase of the loop leaves to do: the next phase, or nothing, because the turn has ended. */
export type PhaseResult = TurnOutcome | { kind: "continue" };

export const proceed: PhaseResult = { kind: "continue" };

/** Where a running turn stands. The phases of the loop read it, and change it by its methods only. */
export class TurnState {
  readonly turn: Turn;
  /** The turn's model, metered. */
  readonly model: LanguageModel;
  readonly limits: TurnLimits;
  readonly #startedAt: number;
  #offer: TurnOffer;
  #fixed: string;
  #messages: Message[];
  readonly #asked: UserMessage[];
  #open: readonly OpenCall[];
  #steps: number;
  #usage: Usage;
  #answer = "";
  #isNudged = false;
  #unfinished = "";
  #replyTokens: number | undefined;

  constructor(turn: Turn) {
    const { history, limits = defaultTurnLimits, meter = (model) => model } = turn;
    this.turn = turn;
    this.model = meter(turn.model);
    this.limits = limits;
    this.#offer = turn;
    this.#fixed = joinFixed(turn.system, turn.tools.definitions);
    this.#messages = [...history.messages];
    this.#asked = [...(history.turn?.asked ?? [])];
    this.#open = history.open;
    this.#steps = history.turn?.steps ?? 0;
    this.#usage = history.turn?.usage ?? noUsage;
    const now = this.now();
    this.#startedAt = history.turn ? now - measureWorkedMs(history.turn, now) : now;
  }

  get system(): string {
    return this.#offer.system;
  }

  get tools(): Dispatcher {
    return this.#offer.tools;
  }

  /** What goes with each request besides the messages; counts towards its size. */
  get fixed(): string {
    return this.#fixed;
  }

  /** The conversation as the model sees it. The array only grows until `replaceMessages`: counts of it are cached. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** What people have asked of this turn. */
  get asked(): readonly UserMessage[] {
    return this.#asked;
  }

  /** Calls without a result. */
  get open(): readonly OpenCall[] {
    return this.#open;
  }

  get steps(): number {
    return this.#steps;
  }

  /** The answer so far: the parts of a reply that was cut at the output limit. */
  get answer(): string {
    return this.#answer;
  }

  /** Whether the model was told that its reply was empty, and has called nothing since. */
  get isNudged(): boolean {
    return this.#isNudged;
  }

  /** How long the newest reply was, in tokens; the most that it may be, where another process has got it. */
  get replyTokens(): number {
    return this.#replyTokens ?? this.model.limits.maxOutputTokens;
  }

  /** What the model had said of a reply that was cut off; "" where the step has none. */
  get unfinished(): string {
    return this.#unfinished;
  }

  get isAborted(): boolean {
    return this.turn.signal.aborted;
  }

  now(): number {
    return (this.turn.now ?? Date.now)();
  }

  /** What every outcome states. */
  totals(): Pick<TurnOutcome, "steps" | "usage"> {
    return { steps: this.#steps, usage: this.#usage };
  }

  spent(): Spent {
    return { steps: this.#steps, usage: this.#usage, elapsedMs: this.now() - this.#startedAt };
  }

  beginStep(): void {
    this.#steps += 1;
    this.#unfinished = "";
  }

  /** Takes back the last step: it was not made, or it was the wrap-up, which is no step. */
  retractStep(): void {
    this.#steps -= 1;
  }

  /** Puts other tools, and what the prompt says of them, in place of those so far. */
  replaceOffer(offer: TurnOffer): void {
    this.#offer = offer;
    this.#fixed = joinFixed(offer.system, offer.tools.definitions);
  }

  /** Adds what a model call of this turn has used. */
  addUsage(usage: Usage): void {
    this.#usage = addUsage(this.#usage, usage);
    this.turn.budget?.charge(usage);
  }

  addMessage(message: Message): void {
    this.#messages.push(message);
  }

  addFollowUps(messages: readonly UserMessage[]): void {
    this.#messages.push(...messages);
    this.#asked.push(...messages);
  }

  /** Adds the model's reply of so many tokens, whose calls are open from here on. */
  addReply(message: AssistantMessage, tokens: number): void {
    this.#replyTokens = tokens;
    if (message.parts.length > 0) this.#messages.push(message);
    this.#open = toolCalls(message).map((call) => ({ call, started: false }));
    if (this.#open.length === 0) return;
    this.#answer = "";
    this.#isNudged = false;
  }

  /** Adds the results of the open calls. */
  addResults(outcomes: readonly CallOutcome[]): void {
    for (const { message, usage } of outcomes) {
      this.#messages.push(message);
      // Charged by the call itself, when it used it.
      if (usage) this.#usage = addUsage(this.#usage, usage);
    }
    this.#open = [];
  }

  /** Puts a smaller conversation in place of the one so far; the same array changes nothing. */
  replaceMessages(messages: readonly Message[]): void {
    if (messages !== this.#messages) this.#messages = [...messages];
  }

  keepUnfinished(text: string): void {
    this.#unfinished = text;
  }

  extendAnswer(text: string): void {
    this.#answer += text;
  }

  /** Remembers that the model was told that its reply was empty. */
  markNudged(): void {
    this.#isNudged = true;
  }
}
