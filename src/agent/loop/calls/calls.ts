import type { ContextWindow } from "../../context/compaction.ts";
import { type AgentEvent, readAbort } from "../../events.ts";
import type { OpenCall } from "../../journal/history.ts";
import type { ToolCall, ToolMessage } from "../../messages.ts";
import type { Asking, NamedFile, Question } from "../../questions.ts";
import { listChanged } from "../../tools/files/named-files.ts";
import type { CallOutcome, Dispatcher } from "../../tools/dispatch/dispatch.ts";
import { answerNow } from "../../journal/unfinished-calls.ts";
import { answerCut } from "./cut-calls.ts";
import type { SharedBudget } from "../limits.ts";

/** At most this many read-only calls of a step run at once. */
const parallelReads = 8;

export interface CallOptions {
  step: number;
  tools: Dispatcher;
  signal: AbortSignal;
  budget: SharedBudget;
  context: ContextWindow;
  /** Set where the reply with the calls was cut within one of them: after so many tokens. */
  cutAt?: number;
  /** Absent where nobody can be asked. */
  ask?: (call: ToolCall, asking: Asking, files?: NamedFile[]) => Question;
}

export interface CallsResult {
  outcomes: CallOutcome[];
  /** People must decide before the calls without an outcome go on. */
  waiting: boolean;
}

/**
 * Gives every open call of a step its one result, in the order of the calls. Neighbouring read-only calls run in
 * parallel. After an abort nothing new is started: on a stop the remaining calls are answered as stopped; on a shutdown
 * they stay open for the worker that resumes the turn. At the first call that waits for people, all later ones that
 * need a decision are put to them too, and they stay open (`waiting`).
 */
export async function* runCalls(
  open: readonly OpenCall[],
  options: CallOptions,
): AsyncGenerator<AgentEvent, CallsResult> {
  const { step, signal, context } = options;
  const outcomes: CallOutcome[] = [];
  const undecided = open.filter(isUndecided).map(({ call }) => call);
  await options.tools.reviewCalls(undecided, signal);
  for (const batch of splitIntoBatches(open, options)) {
    const abort = signal.aborted ? readAbort(signal) : undefined;
    if (abort && abort.kind !== "stop") break;
    const again = abort ? [] : await findOutdated(batch, options);
    if (!abort && (again.length > 0 || batch.some((entry) => findAsking(entry, options)))) {
      yield* again;
      yield* askAbout(open.slice(outcomes.length), options);
      return { outcomes, waiting: true };
    }
    const running: (CallOutcome | Promise<CallOutcome>)[] = [];
    for (const entry of batch) {
      const message = answerNow(entry, abort?.order) ?? answerIfCut(entry, options);
      if (!message) yield { type: "tool-start", step, call: entry.call };
      running.push(message ? { message, durationMs: 0 } : startCall(entry, options));
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

function isUndecided({ started, decision }: OpenCall): boolean {
  return !started && !decision;
}

/** What people must decide before the call goes on. */
function findAsking(entry: OpenCall, { tools, ask }: CallOptions): Asking | undefined {
  if (!isUndecided(entry) || !ask) return undefined;
  return entry.question ?? tools.findAsking(entry.call);
}

/** Puts to people what they have not been asked yet. */
async function* askAbout(
  entries: readonly OpenCall[],
  options: CallOptions,
): AsyncGenerator<AgentEvent, void> {
  const { step, ask, tools, signal } = options;
  for (const entry of entries) {
    const asking = entry.question ? undefined : findAsking(entry, options);
    const { call } = entry;
    if (!asking || !ask) continue;
    const files = asking.kind === "approval" ? await tools.readFiles(call, signal) : undefined;
    yield { type: "question", step, question: ask(call, asking, files), call };
  }
}

/** The questions to ask again: what was approved names a file that is not any more what it was then. */
async function findOutdated(
  batch: readonly OpenCall[],
  { step, ask, tools, signal }: CallOptions,
): Promise<Extract<AgentEvent, { type: "question" }>[]> {
  const again: Extract<AgentEvent, { type: "question" }>[] = [];
  for (const { call, started, question, decision } of batch) {
    const isApproved = question?.kind === "approval" && decision?.kind === "approved";
    if (!ask || started || !isApproved || !question.files) continue;
    const changed = listChanged(question.files, await tools.readFiles(call, signal));
    if (changed.length === 0) continue;
    // What is to be read before has changed with it, and the next decision is about what that is then.
    await tools.reviewCalls([call], signal);
    const asking = tools.findAsking(call);
    // Nobody need be asked any more, or it is denied.
    if (asking?.kind !== "approval") continue;
    const files = await tools.readFiles(call, signal);
    again.push({ type: "question", step, question: ask(call, { ...asking, changed }, files), call });
  }
  return again;
}

function answerIfCut({ call }: OpenCall, { cutAt }: CallOptions): ToolMessage | undefined {
  return cutAt !== undefined && call.malformed !== undefined ? answerCut(call, cutAt) : undefined;
}

function startCall(
  { call, decision }: OpenCall,
  { tools, signal, budget }: CallOptions,
): Promise<CallOutcome> {
  return tools.dispatch(call, signal, { budget, ...(decision && { decision }) });
}

/** Calls that may run together: neighbouring free ones (read-only, nothing to ask), and every other one alone. */
function splitIntoBatches(open: readonly OpenCall[], options: CallOptions): OpenCall[][] {
  const batches: OpenCall[][] = [];
  let isLastFree = false;
  for (const entry of open) {
    const last = batches.at(-1);
    const isFree = !entry.started && options.tools.readsOnly(entry.call) && !findAsking(entry, options);
    if (last && isLastFree && isFree && last.length < parallelReads) last.push(entry);
    else batches.push([entry]);
    isLastFree = isFree;
  }
  return batches;
}
