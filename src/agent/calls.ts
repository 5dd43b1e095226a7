import type { ContextKeeper } from "./context/compaction.ts";
import type { AgentEvent, StopOrder, TurnAbort } from "./events.ts";
import { type OpenCall, unknownResult } from "./history.ts";
import type { Budget } from "./limits.ts";
import type { ToolCall, ToolMessage } from "./messages.ts";
import type { CallOutcome, Dispatcher } from "./tools/dispatch.ts";

/** At most this many read-only calls of a step run at once. */
const parallelReads = 8;

/**
 * Gives every open call of a step its one result, in the order of the calls. Neighbouring read-only calls run in
 * parallel. After an abort nothing new is started: on a stop the rest is answered as stopped; on a shutdown it
 * stays open for the worker that goes on.
 */
export async function* runCalls(
  open: readonly OpenCall[],
  options: {
    step: number;
    tools: Dispatcher;
    signal: AbortSignal;
    budget: Budget;
    context: ContextKeeper;
  },
): AsyncGenerator<AgentEvent, CallOutcome[]> {
  const { step, tools, signal, budget, context } = options;
  const outcomes: CallOutcome[] = [];
  for (const batch of batches(open, tools)) {
    const abort = signal.aborted ? (signal.reason as TurnAbort) : undefined;
    if (abort && abort.kind !== "stop") break;

    const running: (CallOutcome | Promise<CallOutcome>)[] = [];
    for (const { call, started } of batch) {
      if (started) {
        running.push({ message: unknownResult(call), durationMs: 0 });
      } else if (abort) {
        running.push({ message: stoppedResult(call, abort.order), durationMs: 0 });
      } else {
        yield { type: "tool-start", step, call };
        running.push(tools.dispatch(call, signal, budget));
      }
    }
    for (const result of running) {
      const outcome = await result;
      context.measure(outcome.message);
      outcomes.push(outcome);
      yield { type: "tool-end", step, ...outcome };
    }
  }
  return outcomes;
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

function stoppedResult(call: ToolCall, order: StopOrder): ToolMessage {
  const text = `Not run: stopped by ${order.by}.`;
  return { role: "tool", callId: call.id, name: call.name, status: "stopped", text };
}
