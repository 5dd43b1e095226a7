import type { ContextWindow } from "../context/compaction.ts";
import type { AgentEvent, TurnAbort, TurnOutcome } from "../events.ts";
import { type History, measureWorkedMs } from "../history.ts";
import { BudgetReached } from "../llm/metered-model.ts";
import {
  type AssistantMessage,
  heddle,
  isFromPerson,
  type Message,
  textOf,
  toolCalls,
  type UserMessage,
} from "../messages.ts";
import { addUsage, type LanguageModel, ModelError, noUsage, type Usage } from "../model.ts";
import { createAsker } from "../questions.ts";
import type { Dispatcher } from "../tools/dispatch.ts";
import { type CallOptions, runCalls, withUniqueCallIds } from "./calls.ts";
import { defaultTurnLimits, findReachedLimit, remainingBudget, type TurnLimits } from "./limits.ts";
import { findNewNotes, recallMark } from "./recall.ts";
import { countRepeatedSteps, equalSteps } from "./repetition.ts";

/** Everything that one run of the agent needs. */
export interface Turn {
  id: string;
  /** The session so far. With an open turn in it, this run goes on where that one was interrupted. */
  history: History;
  model: LanguageModel;
  tools: Dispatcher;
  system: string;
  context: ContextWindow;
  /** Default: {@link defaultTurnLimits}. */
  limits?: TurnLimits;
  /** Messages that arrived since; they must be stored when this resolves. Asked for between steps. */
  followUps?(): Promise<UserMessage[]>;
  /** The notes on record when the turn begins, as `noteIndex` lists them; undefined when nobody can tell. */
  recall?(): Promise<string | undefined>;
  /**
   * How long a question to people stays open, ms. Without it nobody can be asked: what needs an approval is denied.
   */
  questionMs?: number;
  /** Aborted with a {@link TurnAbort} as its reason. */
  signal: AbortSignal;
  /** The same model at the expense of whoever pays for the turn (see `meteredModel`). Default: nobody counts. */
  pay?(model: LanguageModel): LanguageModel;
  /** Milliseconds since the epoch. Default `Date.now`. */
  now?(): number;
}

/**
 * Runs one turn: model call, tool calls, again, until the model answers or something ends it.
 *
 * Does not throw for anything that a model, a tool or a person does; the outcome tells. The consumer must
 * store each event that `recordOf` names before it asks for the next one. A reply with calls may wait for the event
 * behind it, and the last result of a step for `followUps` or the end of the turn: nothing is done in between.
 */
export async function* runTurn(options: Turn): AsyncGenerator<AgentEvent, TurnOutcome> {
  const { limits = defaultTurnLimits, now = Date.now, pay = (model) => model } = options;
  const turn = { ...options, model: pay(options.model) };
  let messages: Message[] = [...turn.history.messages];
  /** What people want of this turn. */
  const asked: UserMessage[] = [...(turn.history.turn?.asked ?? [])];
  let steps = turn.history.turn?.steps ?? 0;
  let usage: Usage = turn.history.turn?.usage ?? noUsage;
  const startedAt = turn.history.turn ? now() - measureWorkedMs(turn.history.turn, now()) : now();
  /** Parts of an answer that was cut at the output limit. */
  let answer = "";
  let nudged = false;
  // Everything that goes with each request beside the messages.
  const fixed = turn.system + JSON.stringify(turn.tools.definitions);

  const totals = () => ({ steps, usage });
  const spent = () => ({ ...totals(), elapsedMs: now() - startedAt });
  // Nothing else aborts a turn: see TurnAbort.
  const aborted = () => abortedOutcome(turn.signal.reason as TurnAbort, totals());

  const refused = (said: string): TurnOutcome => {
    return { kind: "refused", text: said || "The model declined to answer this.", ...totals() };
  };

  /** Says something to the model in Heddle's name. */
  function* tell(text: string, mark = ":nudge"): Generator<AgentEvent, void> {
    const id = `${turn.id}:${steps}${mark}`;
    const message = turn.context.measure({ role: "user", id, author: heddle, text, at: now() });
    messages.push(message);
    yield { type: "nudge", message };
  }

  /** Makes room in the window; false when there is none to make, or the turn is aborted meanwhile. */
  async function* makeRoom(force: boolean): AsyncGenerator<AgentEvent, boolean> {
    try {
      const fitted = yield* turn.context.compactToFit(messages, { fixed, force, pay, signal: turn.signal });
      messages = fitted.messages;
      usage = addUsage(usage, fitted.usage);
      return !fitted.tooLarge;
    } catch (error) {
      if (turn.signal.aborted) return false;
      throw error;
    }
  }

  /** Ends the turn with a last reply, made without tools, about how far it came. */
  async function* wrapUp(why: string, limit: string): AsyncGenerator<AgentEvent, TurnOutcome> {
    yield* tell(
      `${why} Without using tools, summarise for the people in the thread what is done, what is still open and how to go on.`,
      wrapUpMark,
    );
    yield* makeRoom(false);
    const reply = yield* callModel(turn, steps + 1, messages, "none");
    if (reply.kind === "aborted") return aborted();
    if (reply.kind === "failed" && reply.error.kind === "content-filter") return refused(reply.error.message);
    const said = reply.kind === "message" ? textOf(reply.message).trim() : "";
    if (reply.kind === "message") usage = addUsage(usage, reply.usage);
    if (reply.kind === "message" && reply.message.stop === "refusal") return refused(said);
    return { kind: "step-limit", limit, text: said || lastWords(messages), ...totals() };
  }

  /** The end of a turn whose last reply is on record, made by a worker that died before it could say so. */
  function wrappedUp(reply: AssistantMessage): TurnOutcome {
    const equal = countRepeatedSteps(messages.slice(0, -2));
    const limit =
      equal >= equalSteps.end ? equalInARow(equal) : (findReachedLimit(limits, spent())?.limit ?? "");
    // That reply is no step.
    steps -= 1;
    if (reply.stop === "refusal") return refused(textOf(reply).trim());
    return { kind: "step-limit", limit, text: textOf(reply).trim() || lastWords(messages), ...totals() };
  }

  /** What a reply without tool calls means: the end of the turn, or, with undefined, that the model is to go on. */
  async function* judge(message: AssistantMessage): AsyncGenerator<AgentEvent, TurnOutcome | undefined> {
    answer += textOf(message);
    if (message.stop === "pause") return undefined;
    if (message.stop === "refusal") return refused(answer.trim());
    const isCut = message.stop === "max-tokens" || message.stop === "context-window";
    if (message.stop === "context-window") yield* makeRoom(true);
    if (isCut && textOf(message).trim()) {
      yield* tell("Your reply was cut. Continue exactly where it stopped, repeating nothing.");
      return undefined;
    }
    // One that was cut within its thoughts counts as empty: told to continue, it would be cut there again and again.
    if (answer.trim() && (!isCut || nudged)) return { kind: "answered", text: answer.trim(), ...totals() };
    if (nudged) return { kind: "model-error", text: noAnswer, ...totals() };
    nudged = true;
    yield* tell("Your last reply was empty. Please answer, or use a tool.");
    return undefined;
  }

  let open = turn.history.open;
  if (turn.history.turn && open.length === 0) {
    const said = repliesSoFar(messages);
    // Stored by a worker that died before it could act on it.
    const last = messages.at(-1)?.role === "assistant" ? said.pop() : undefined;
    answer = said.map(textOf).join("");
    const end = last && (isWrapUp(messages.at(-2)) ? wrappedUp(last) : yield* judge(last));
    if (turn.signal.aborted) return aborted();
    if (end) return end;
  }
  for (;;) {
    if (open.length > 0) {
      const { tools, signal, context } = turn;
      const budget = remainingBudget(limits, spent());
      const done = yield* runCalls(open, { step: steps, tools, signal, budget, context, ...asking(turn) });
      for (const outcome of done.outcomes) {
        messages.push(outcome.message);
        if (outcome.usage) usage = addUsage(usage, outcome.usage);
      }
      if (done.waiting) return { kind: "waiting", ...totals() };
      open = [];
    }
    if (turn.signal.aborted) return aborted();

    const limit = findReachedLimit(limits, spent());
    if (limit?.kind === "budget") return { ...limit, text: lastWords(messages), ...totals() };
    if (limit) return yield* wrapUp("You have reached the limit of steps for this turn.", limit.limit);

    const equal = countRepeatedSteps(messages);
    if (equal >= equalSteps.end) {
      return yield* wrapUp(
        `The last ${equal} steps were the same calls with the same results, so this turn ends here.`,
        equalInARow(equal),
      );
    }
    // Also when the hint was stored and the worker replaced, it is given once.
    if (equal === equalSteps.hint && messages.at(-1)?.role === "tool") yield* tell(sameAgain);

    const arrived = await turn.followUps?.();
    if (arrived && arrived.length > 0) {
      messages.push(...arrived);
      asked.push(...arrived);
      yield { type: "follow-up", messages: arrived };
    }

    if (asksToCompact(messages)) {
      const before = messages.length;
      yield* makeRoom(true);
      if (turn.signal.aborted) return aborted();
      const made = messages.length < before;
      const text = made ? "I summarised the earlier conversation." : "There is nothing to summarise yet.";
      if (asked.every(isCompactOrder)) return { kind: "answered", text, ...totals() };
      yield { type: "notice", text };
    }
    const index = steps === 0 ? await turn.recall?.() : undefined;
    const news = index === undefined ? undefined : findNewNotes(index, messages);
    if (news) yield* tell(news, recallMark);
    const fits = yield* makeRoom(false);
    if (turn.signal.aborted) return aborted();
    if (!fits) return { kind: "model-error", text: tooLarge, ...totals() };

    steps += 1;
    let reply = yield* callModel(turn, steps, messages, "auto");
    if (reply.kind === "failed" && reply.error.kind === "overflow") {
      // The service counts otherwise than we do: make room as if the window were full, and try once more.
      yield* makeRoom(true);
      reply = yield* callModel(turn, steps, messages, "auto");
    }
    if (reply.kind === "aborted") return aborted();
    if (reply.kind === "failed" && reply.error instanceof BudgetReached) {
      const { usedUp } = reply.error;
      // The step was not made.
      steps -= 1;
      return { kind: "budget", limit: usedUp.limit, usedUp, text: lastWords(messages), ...totals() };
    }
    if (reply.kind === "failed" && reply.error.kind === "content-filter") return refused(reply.error.message);
    if (reply.kind === "failed") return { kind: "model-error", text: reply.error.message, ...totals() };
    usage = addUsage(usage, reply.usage);
    turn.context.learn(messages, fixed, reply.usage);

    const { message } = reply;
    if (message.parts.length > 0) messages.push(message);
    open = toolCalls(message).map((call) => ({ call, started: false }));
    if (open.length > 0) {
      answer = "";
      nudged = false;
      continue;
    }

    const end = yield* judge(message);
    if (end) return end;
  }
}

/** Ends the id of the message that asks for a turn's last reply. */
const wrapUpMark = ":wrap-up";

function isWrapUp(message: Message | undefined): boolean {
  return message?.role === "user" && message.author.id === heddle.id && message.id.endsWith(wrapUpMark);
}

function equalInARow(steps: number): string {
  return `${steps} equal steps in a row`;
}

/** What the model has replied since it was asked or got the result of a call: the parts of one answer. */
function repliesSoFar(messages: readonly Message[]): AssistantMessage[] {
  const asked = messages.findLastIndex((message) => message.role === "tool" || isFromPerson(message));
  return messages.slice(asked + 1).filter((message) => message.role === "assistant");
}

/** How the turn asks people, if it can. */
function asking({ history, questionMs, now = Date.now }: Turn): Pick<CallOptions, "ask"> {
  if (questionMs === undefined) return {};
  const requester = history.turn?.asked.find(isFromPerson)?.author ?? heddle;
  return { ask: createAsker(requester, questionMs, now) };
}

type Reply =
  | { kind: "message"; message: AssistantMessage; usage: Usage }
  | { kind: "failed"; error: ModelError }
  | { kind: "aborted" };

/** One model call. Its message is stored (by the consumer) unless it is empty. */
async function* callModel(
  turn: Turn,
  step: number,
  messages: readonly Message[],
  toolChoice: "auto" | "none",
): AsyncGenerator<AgentEvent, Reply> {
  const request = { system: turn.system, messages, tools: turn.tools.definitions, toolChoice };
  const troubles: string[] = [];
  yield { type: "step-start", step };
  try {
    for await (const event of turn.model.stream(request, turn.signal)) {
      switch (event.type) {
        case "text":
          yield { type: "text-delta", step, delta: event.delta };
          break;
        case "thinking":
          yield { type: "thinking-delta", step, delta: event.delta };
          break;
        case "retry":
          troubles.push(`${event.reason} Tried again after ${(event.delayMs / 1_000).toFixed(1)} s.`);
          yield { ...event, step };
          break;
        case "fallback": {
          const text = `${event.reason} Going on with ${event.model}.`;
          troubles.push(text);
          yield { type: "step-start", step };
          yield { type: "notice", text };
          break;
        }
        case "done": {
          const { usage } = event;
          const message = withUniqueCallIds(event.message, messages);
          if (message.parts.length > 0) {
            turn.context.measure(message);
            const told = troubles.length > 0 && { troubles };
            yield { type: "assistant", step, message, usage, ...told };
          }
          return { kind: "message", message, usage };
        }
      }
    }
  } catch (error) {
    if (turn.signal.aborted) return { kind: "aborted" };
    if (error instanceof ModelError) return { kind: "failed", error };
    throw error;
  }
  throw new Error(`The model ${turn.model.id} ended its stream without a final event.`);
}

function abortedOutcome(reason: TurnAbort, totals: { steps: number; usage: Usage }): TurnOutcome {
  switch (reason.kind) {
    case "stop":
      return { kind: "stopped", order: reason.order, ...totals };
    case "shutdown":
      return { kind: "suspended", ...totals };
    case "lost-lease":
      return { kind: "lost-lease", ...totals };
  }
}

const tooLarge =
  "This conversation no longer fits into the model's window, even summarised. Start a new thread, or ask about a smaller part.";

const noAnswer = "The model gave no answer, also when asked again. Please rephrase.";

const sameAgain =
  "You are making the same call with the same result again and again. Try another way, or tell the people what is in the way. If you wait for something, wait longer in one call.";

/** Whether the newest message is nothing but the order to compact. */
function asksToCompact(messages: readonly Message[]): boolean {
  const last = messages.at(-1);
  return last?.role === "user" && isCompactOrder(last);
}

function isCompactOrder({ text }: UserMessage): boolean {
  return /^[/!]?compact$/i.test(text.trim());
}

/** What to show when there is no model call left for a summary: what the model said last since it was asked. */
function lastWords(messages: readonly Message[]): string {
  for (const message of messages.toReversed()) {
    if (isFromPerson(message)) break;
    const text = message.role === "assistant" ? textOf(message).trim() : "";
    if (text) return text;
  }
  return "Nothing was said before the limit was reached.";
}
