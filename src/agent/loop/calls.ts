import { randomUUID } from "node:crypto";
import type { ContextWindow } from "../context/compaction.ts";
import type { AgentEvent, StopOrder, TurnAbort } from "../events.ts";
import { answerUnknown, type OpenCall } from "../history.ts";
import { memoizedByPrefix } from "../llm/wire-history.ts";
import {
  type AssistantMessage,
  type Message,
  type ToolCall,
  type ToolMessage,
  toolCalls,
} from "../messages.ts";
import { answerWithoutRun, type Asking, type Question } from "../questions.ts";
import type { CallOutcome, Dispatcher } from "../tools/dispatch.ts";
import type { Budget } from "./limits.ts";

/** At most this many read-only calls of a step run at once. */
const parallelReads = 8;

export interface CallOptions {
  step: number;
  tools: Dispatcher;
  signal: AbortSignal;
  budget: Budget;
  context: ContextWindow;
  /** Absent where nobody can be asked. */
  ask?: (call: ToolCall, asking: Asking) => Question;
}

/**
 * Gives every open call of a step its one result, in the order of the calls. Neighbouring read-only calls run in
 * parallel. After an abort nothing new is started: on a stop the rest is answered as stopped; on a shutdown it
 * stays open for the worker that goes on. At the first call that waits for people, all those behind it that must be
 * asked are asked too, and they stay open (`waiting`).
 */
export async function* runCalls(
  open: readonly OpenCall[],
  options: CallOptions,
): AsyncGenerator<AgentEvent, { outcomes: CallOutcome[]; waiting: boolean }> {
  const { step, tools, signal, budget, context, ask } = options;
  const outcomes: CallOutcome[] = [];
  /** What people have to decide before the call goes on. */
  const asked = ({ call, started, question, decision }: OpenCall): Asking | undefined =>
    started || decision || !ask ? undefined : (question ?? tools.asks(call));
  const isFree = (entry: OpenCall) =>
    !entry.started && tools.effectOf(entry.call.name) === "read" && !asked(entry);

  let answered = 0;
  for (const batch of batches(open, isFree)) {
    const abort = signal.aborted ? (signal.reason as TurnAbort) : undefined;
    if (abort && abort.kind !== "stop") break;
    if (!abort && ask && batch.some(asked)) {
      for (const entry of open.slice(answered)) {
        const asking = entry.question ? undefined : asked(entry);
        const { call } = entry;
        if (asking) yield { type: "question", step, question: ask(call, asking), call };
      }
      return { outcomes, waiting: true };
    }
    answered += batch.length;

    const running: (CallOutcome | Promise<CallOutcome>)[] = [];
    for (const { call, started, decision } of batch) {
      const given = started ? answerUnknown(call) : decision && answerWithoutRun(call, decision);
      if (given) {
        running.push({ message: given, durationMs: 0 });
      } else if (abort) {
        running.push({ message: stoppedResult(call, abort.order), durationMs: 0 });
      } else {
        yield { type: "tool-start", step, call };
        running.push(tools.dispatch(call, signal, { budget, ...(decision && { decision }) }));
      }
    }
    for (const result of running) {
      const outcome = await result;
      context.measure(outcome.message);
      outcomes.push(outcome);
      yield { type: "tool-end", step, ...outcome };
    }
  }
  return { outcomes, waiting: false };
}

const callIds = memoizedByPrefix(
  () => new Set<string>(),
  (ids, message) => {
    if (message.role === "assistant") for (const { id } of toolCalls(message)) ids.add(id);
  },
);

/**
 * The reply with a new id for each call whose id is that of another call, in it or in `messages` before it: some models
 * use theirs again. Results, trims, attachments and files of long output are matched by the id alone.
 */
export function withUniqueCallIds(reply: AssistantMessage, messages: readonly Message[]): AssistantMessage {
  const earlier = callIds(messages);
  const own = new Set<string>();
  let isChanged = false;
  const parts = reply.parts.map((part) => {
    if (part.type !== "tool-call") return part;
    const { id } = part.call;
    if (!earlier.has(id) && !own.has(id)) {
      own.add(id);
      return part;
    }
    isChanged = true;
    return { ...part, call: { ...part.call, id: `call_${randomUUID().replaceAll("-", "")}` } };
  });
  return isChanged ? { ...reply, parts } : reply;
}

/** Calls that may run together: runs of free ones (read-only, nothing to ask), everything else alone. */
function batches(open: readonly OpenCall[], isFree: (entry: OpenCall) => boolean): OpenCall[][] {
  const result: OpenCall[][] = [];
  for (const entry of open) {
    const last = result.at(-1);
    if (last && last.length < parallelReads && [...last, entry].every(isFree)) last.push(entry);
    else result.push([entry]);
  }
  return result;
}

function stoppedResult(call: ToolCall, order: StopOrder): ToolMessage {
  const text = `Not run: stopped by ${order.by}.`;
  return { role: "tool", callId: call.id, name: call.name, status: "stopped", text };
}
