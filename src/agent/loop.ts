import type { ContextKeeper } from "./context/compaction.ts";
import type { AgentEvent, StopOrder, TurnAbort, TurnOutcome } from "./events.ts";
import { type History, type OpenCall, unknownResult } from "./history.ts";
import { addUsage, type LanguageModel, ModelError, noUsage, type Usage } from "./llm/model.ts";
import {
  type AssistantMessage,
  heddle,
  type Message,
  textOf,
  type ToolMessage,
  toolCalls,
  type UserMessage,
} from "./messages.ts";
import type { Dispatcher } from "./tools/dispatch.ts";

/** What ends a turn early. A limit is checked before each step, so a step may overshoot it once. */
export interface TurnLimits {
  /** Model calls. */
  steps: number;
  /** Wall time since the turn began, in milliseconds. */
  wallMs: number;
  /** Input and output tokens, caches included. */
  tokens?: number;
  /** US dollars. */
  cost?: number;
}

export const defaultTurnLimits: TurnLimits = { steps: 50, wallMs: 60 * 60_000 };

/** Everything that one run of the agent needs. */
export interface Turn {
  id: string;
  /** The session so far. With an open turn in it, this run goes on where that one was interrupted. */
  history: History;
  model: LanguageModel;
  tools: Dispatcher;
  system: string;
  context: ContextKeeper;
  limits: TurnLimits;
  /** Messages that arrived since; they must be stored when this resolves. Asked for between steps. */
  followUps(): Promise<UserMessage[]>;
  /** Aborted with a {@link TurnAbort} as its reason. */
  signal: AbortSignal;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** At most this many read-only calls of a step run at once. */
const parallelReads = 8;

/**
 * Runs one turn: model call, tool calls, again, until the model answers or something ends it.
 *
 * Does not throw for anything that a model, a tool or a person does; the outcome tells. The consumer must
 * store each event that `recordOf` names before it asks for the next one.
 */
export async function* runTurn(turn: Turn): AsyncGenerator<AgentEvent, TurnOutcome> {
  let messages: Message[] = [...turn.history.messages];
  let steps = turn.history.turn?.steps ?? 0;
  let usage: Usage = turn.history.turn?.usage ?? noUsage;
  const startedAt = turn.history.turn?.startedAt ?? turn.now();
  /** Parts of an answer that was cut at the output limit. */
  let answer = "";
  let nudged = false;

  const totals = () => ({ steps, usage });
  const nudge = (text: string): UserMessage =>
    turn.context.measure({
      role: "user",
      id: `${turn.id}:${steps}:nudge`,
      author: heddle,
      text,
      at: turn.now(),
    });
  // Everything that goes with each request beside the messages.
  const fixed = turn.system + JSON.stringify(turn.tools.definitions);
  /** Makes room in the window; false when there is none to make. */
  async function* makeRoom(force: boolean): AsyncGenerator<AgentEvent, boolean> {
    const fitted = yield* turn.context.fit(messages, { fixed, force, signal: turn.signal });
    messages = fitted.messages;
    usage = addUsage(usage, fitted.usage);
    return !fitted.tooLarge;
  }

  let open = turn.history.open;
  for (;;) {
    if (open.length > 0) yield* runCalls(turn, steps, open, messages);
    open = [];
    if (turn.signal.aborted) return aborted(turn.signal.reason as TurnAbort, totals());

    const limit = limitReached(turn.limits, { steps, usage, elapsedMs: turn.now() - startedAt });
    if (limit) {
      if (limit.kind === "budget") return { ...limit, text: lastWords(messages), ...totals() };
      const message = nudge(
        "You have reached the limit of steps for this turn. Without using tools, summarise for the people in the thread what is done, what is still open and how to go on.",
      );
      messages.push(message);
      yield { type: "nudge", message };
      const reply = yield* callModel(turn, steps + 1, messages, "none");
      if (reply.kind === "aborted") return aborted(reply.reason, totals());
      if (reply.kind === "failed") return { ...limit, text: lastWords(messages), ...totals() };
      usage = addUsage(usage, reply.usage);
      return { ...limit, text: textOf(reply.message).trim() || lastWords(messages), ...totals() };
    }

    const arrived = await turn.followUps();
    if (arrived.length > 0) {
      messages.push(...arrived);
      yield { type: "follow-up", messages: arrived };
    }

    try {
      if (asksToCompact(messages)) {
        const before = messages.length;
        yield* makeRoom(true);
        const text =
          messages.length < before
            ? "I summarised the earlier conversation."
            : "There is nothing to summarise yet.";
        return { kind: "answered", text, ...totals() };
      }
      if (!(yield* makeRoom(false))) return { kind: "model-error", text: tooLarge, ...totals() };
    } catch (error) {
      if (turn.signal.aborted) return aborted(turn.signal.reason as TurnAbort, totals());
      throw error;
    }

    steps += 1;
    yield { type: "step-start", step: steps };
    let reply = yield* callModel(turn, steps, messages, "auto");
    if (reply.kind === "failed" && reply.error.kind === "overflow") {
      // The service counts otherwise than we do: make room as if the window were full, and try once more.
      const before = messages.length;
      if ((yield* makeRoom(true)) || messages.length < before)
        reply = yield* callModel(turn, steps, messages, "auto");
    }
    if (reply.kind === "aborted") return aborted(reply.reason, totals());
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

    answer += textOf(message);
    if (message.stop === "pause") continue;
    if (message.stop === "refusal") {
      return { kind: "refused", text: answer.trim() || "The model declined to answer this.", ...totals() };
    }
    if (message.stop === "max-tokens" && message.parts.length > 0) {
      const goOn = nudge(
        "Your reply was cut at the output limit. Continue exactly where it stopped, repeating nothing.",
      );
      messages.push(goOn);
      yield { type: "nudge", message: goOn };
      continue;
    }
    if (answer.trim()) return { kind: "answered", text: answer.trim(), ...totals() };
    if (nudged)
      return {
        kind: "model-error",
        text: "The model gave no answer, also when asked again. Please rephrase.",
        ...totals(),
      };
    nudged = true;
    const again = nudge("Your last reply was empty. Please answer, or use a tool.");
    messages.push(again);
    yield { type: "nudge", message: again };
  }
}

type Reply =
  | { kind: "message"; message: AssistantMessage; usage: Usage }
  | { kind: "failed"; error: ModelError }
  | { kind: "aborted"; reason: TurnAbort };

/** One model call. Its message is stored (by the consumer) unless it is empty. */
async function* callModel(
  turn: Turn,
  step: number,
  messages: readonly Message[],
  toolChoice: "auto" | "none",
): AsyncGenerator<AgentEvent, Reply> {
  const request = { system: turn.system, messages, tools: turn.tools.definitions, toolChoice };
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
          yield { ...event, step };
          break;
        case "done":
          if (event.message.parts.length > 0) {
            const message = turn.context.measure(event.message);
            yield { type: "assistant", step, message, usage: event.usage };
          }
          return { kind: "message", message: event.message, usage: event.usage };
      }
    }
  } catch (error) {
    if (turn.signal.aborted) return { kind: "aborted", reason: turn.signal.reason as TurnAbort };
    if (error instanceof ModelError) return { kind: "failed", error };
    throw error;
  }
  throw new Error(`The model ${turn.model.id} ended its stream without a final event.`);
}

/**
 * Gives every open call its one result, in the order of the calls. Neighbouring read-only calls run in
 * parallel. After an abort nothing new is started: on a stop the rest is answered as stopped; on a shutdown it
 * stays open for the worker that goes on.
 */
async function* runCalls(
  turn: Turn,
  step: number,
  open: readonly OpenCall[],
  messages: Message[],
): AsyncGenerator<AgentEvent, void> {
  for (const batch of batches(open, turn.tools)) {
    const abort = turn.signal.aborted ? (turn.signal.reason as TurnAbort) : undefined;
    if (abort && abort.kind !== "stop") return;

    const running: Promise<{ message: ToolMessage; durationMs: number }>[] = [];
    for (const { call, started } of batch) {
      if (started) {
        running.push(Promise.resolve({ message: unknownResult(call), durationMs: 0 }));
      } else if (abort) {
        running.push(Promise.resolve({ message: stoppedResult(call, abort.order), durationMs: 0 }));
      } else {
        yield { type: "tool-start", step, call };
        running.push(turn.tools.dispatch(call, turn.signal));
      }
    }
    for (const result of running) {
      const { message, durationMs } = await result;
      messages.push(turn.context.measure(message));
      yield { type: "tool-end", step, message, durationMs };
    }
  }
}

/** Calls that may run together: runs of read-only ones, everything else alone. */
function batches(open: readonly OpenCall[], tools: Dispatcher): OpenCall[][] {
  const result: OpenCall[][] = [];
  for (const entry of open) {
    const last = result.at(-1);
    const parallel = !entry.started && tools.effectOf(entry.call.name) === "read";
    const joins = last?.every(({ call, started }) => !started && tools.effectOf(call.name) === "read");
    if (parallel && last && joins && last.length < parallelReads) last.push(entry);
    else result.push([entry]);
  }
  return result;
}

function stoppedResult(call: { id: string; name: string }, order: StopOrder): ToolMessage {
  return {
    role: "tool",
    callId: call.id,
    name: call.name,
    status: "stopped",
    text: `Not run: stopped by ${order.by}.`,
  };
}

function aborted(reason: TurnAbort, totals: { steps: number; usage: Usage }): TurnOutcome {
  switch (reason.kind) {
    case "stop":
      return { kind: "stopped", order: reason.order, ...totals };
    case "shutdown":
      return { kind: "suspended", ...totals };
    case "lost-lease":
      return { kind: "lost-lease", ...totals };
  }
}

function limitReached(
  limits: TurnLimits,
  spent: { steps: number; usage: Usage; elapsedMs: number },
): { kind: "step-limit" | "budget"; limit: string } | undefined {
  const { input, output, cacheRead, cacheWrite, cost } = spent.usage;
  if (spent.steps >= limits.steps) return { kind: "step-limit", limit: `${limits.steps} steps` };
  if (spent.elapsedMs >= limits.wallMs)
    return { kind: "budget", limit: `${Math.round(limits.wallMs / 60_000)} minutes` };
  if (limits.tokens && input + output + cacheRead + cacheWrite >= limits.tokens) {
    return { kind: "budget", limit: `${limits.tokens} tokens` };
  }
  if (limits.cost && cost >= limits.cost) return { kind: "budget", limit: `$${limits.cost}` };
  return undefined;
}

const tooLarge =
  "This conversation no longer fits into the model's window, even summarised. Start a new thread, or ask about a smaller part.";

/** Whether the newest message is nothing but the order to compact. */
function asksToCompact(messages: readonly Message[]): boolean {
  const last = messages.at(-1);
  return last?.role === "user" && /^[/!]?compact$/i.test(last.text.trim());
}

/** What to show when there is no model call left for a summary. */
function lastWords(messages: readonly Message[]): string {
  const last = messages.findLast((message) => message.role === "assistant" && textOf(message).trim() !== "");
  return last?.role === "assistant" ? textOf(last).trim() : "Nothing was said before the limit was reached.";
}
