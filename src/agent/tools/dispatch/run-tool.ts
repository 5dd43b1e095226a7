import { readAbort } from "../../events.ts";
import type { SharedBudget } from "../../loop/limits.ts";
import type { Masker } from "../../secrets/masker.ts";
import type { ToolCall } from "../../messages.ts";
import type { PolicyDecision } from "../../policy-decision.ts";
import type { Decision } from "../../questions.ts";
import { answerUnknown } from "../../journal/unfinished-calls.ts";
import { type Ending, runBounded } from "./bounded-run.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import { createLiveOutput } from "./live-output.ts";
import type { Tool, ToolResult, ToolServices } from "../tool.ts";

/** One call on its way. */
export interface CallRun {
  call: ToolCall;
  signal: AbortSignal;
  /** What it may spend on models. */
  budget?: SharedBudget;
  /** What people have decided about it. */
  decision?: Decision;
}

export interface RunToolDeps {
  services: ToolServices;
  masker: Masker;
  /** What policy and tool say about the call, the stricter of both. */
  decide(run: CallRun, tool: Tool, input: unknown): Promise<PolicyDecision>;
  breaker: CircuitBreaker;
  /** How long an aborted tool may take to say what it did, in milliseconds. */
  graceMs: number;
  /** Live output of running tools, masked. */
  output?(callId: string, chunk: string): void;
  /** Records that a tool threw, and returns the trace id under which an operator finds it. */
  reportError(call: ToolCall, error: unknown): string;
}

const defaultTimeoutMs = 600_000;

/** Runs one checked call: the policy, then the circuit breaker, then the tool within its time. Never throws. */
export async function runTool(
  tool: Tool,
  input: unknown,
  run: CallRun,
  deps: RunToolDeps,
): Promise<ToolResult> {
  const { call, signal } = run;
  try {
    const rule = await deps.decide(run, tool, input);
    const denied = findDenial(tool, rule, run.decision);
    if (denied !== undefined && !signal.aborted) return { ...createFailure(denied), notRun: "denied" };
    if (signal.aborted) return endCutOff(call, signal, " before it ran");

    const entry = deps.breaker.enter(tool.name);
    if (!entry.ok) return createFailure(describeOpenCircuit(tool, entry));
    const ending = await execute(tool, input, run, deps);
    entry.pass.settle(signal.aborted ? "undecided" : hasWorked(ending) ? "worked" : "failed");
    return finishRun(tool, run, ending, deps);
  } catch (error) {
    return reportThrown(call, error, deps);
  }
}

/** Why the call must not run; undefined when it may. */
function findDenial(tool: Tool, rule: PolicyDecision, decision: Decision | undefined): string | undefined {
  if (rule.action === "allow") return undefined;
  const denied = `DENIED: ${tool.name} was not run: ${rule.why}`;
  if (rule.action === "deny") return denied;
  // Whoever answers a tool's own question has seen it.
  const isAnswered = decision?.kind === "answered" && rule.input !== undefined;
  if (decision?.kind === "approved" || tool.asks || isAnswered) return undefined;
  return `${denied} A person must approve it first, and nobody can be asked here: leave it, and report it as open.`;
}

function describeOpenCircuit(
  tool: Tool,
  { failures, retryInMs }: { failures: number; retryInMs: number },
): string {
  const wait = `Use another way, or try again in ${Math.ceil(retryInMs / 1000)} s.`;
  return `CIRCUIT_OPEN: ${tool.name} was not run: it failed ${failures} times in a row. ${wait}`;
}

async function execute(
  tool: Tool,
  input: unknown,
  { call, signal, budget, decision }: CallRun,
  { services, masker, graceMs, output }: RunToolDeps,
): Promise<Ending<ToolResult>> {
  const live = createLiveOutput(masker, (chunk) => output?.(call.id, chunk));
  const ending = await runBounded(
    // Async, so that a tool that throws at once is like one that throws later.
    async (either) =>
      tool.run(input, {
        ...services,
        callId: call.id,
        signal: either,
        ...(budget && { budget }),
        ...(decision?.kind === "answered" && { answer: decision }),
        output: (chunk) => live.write(chunk),
      }),
    { signal, timeoutMs: tool.timeoutMs ?? defaultTimeoutMs, graceMs },
  );
  live.end();
  return ending;
}

/** Whether the tool itself is in order; wrong arguments are no fault of it. */
function hasWorked(ending: Ending<ToolResult>): boolean {
  return ending.kind === "returned" && !ending.timedOut && ending.result.outage !== true;
}

/** The result of a tool that has ended, or was ended. */
function finishRun(
  tool: Tool,
  { call, signal }: CallRun,
  ending: Ending<ToolResult>,
  deps: RunToolDeps,
): ToolResult {
  // What was done before the abort counts: the model must know that the file was written.
  if (ending.kind === "returned" && ending.result.status === "ok") return ending.result;
  const said = ending.kind === "returned" ? ending.result : undefined;
  if (signal.aborted) {
    const when = ending.kind === "abandoned" ? " before it could say what it had done" : "";
    return endCutOff(call, signal, when, said);
  }
  if (ending.timedOut) {
    const seconds = (tool.timeoutMs ?? defaultTimeoutMs) / 1000;
    const first = `TIMEOUT: ${tool.name} was ended after ${seconds} s; what it had begun may be half done.`;
    return said ? { ...said, status: "partial", text: `${first}\n${said.text}` } : createFailure(first);
  }
  switch (ending.kind) {
    case "returned":
      return ending.result;
    case "threw":
      return reportThrown(call, ending.error, deps);
    case "abandoned":
      return createFailure(`${tool.name} did not end.`);
  }
}

/** The result of a call that the turn's end cut off, with what the tool had to say. */
function endCutOff(call: ToolCall, signal: AbortSignal, when: string, said?: ToolResult): ToolResult {
  const reason = readAbort(signal);
  switch (reason.kind) {
    case "stop": {
      const text = `stopped by ${reason.order.by}${when}`;
      return said
        ? { ...said, status: "stopped", text: `${text}\n${said.text}` }
        : { status: "stopped", text };
    }
    case "shutdown":
    case "lost-lease":
      return { status: "unknown", text: answerUnknown(call).text, ...pickAccount(said) };
  }
}

function reportThrown(call: ToolCall, error: unknown, { reportError }: RunToolDeps): ToolResult {
  const traceId = reportError(call, error);
  return createFailure(
    `${call.name} failed unexpectedly (trace ${traceId}). Try another way; an operator can look it up.`,
  );
}

export function createFailure(text: string): ToolResult {
  return { status: "error", text };
}

/** What is recorded of a call besides its result. */
export function pickAccount({ usage, inner }: Pick<ToolResult, "usage" | "inner"> = {}) {
  return { ...(usage && { usage }), ...(inner && { inner }) };
}
