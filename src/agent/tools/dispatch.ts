import { randomUUID } from "node:crypto";
import { fits, type TextLimits, truncate } from "../context/truncate.ts";
import type { InnerCalls, TurnAbort } from "../events.ts";
import { answerUnknown } from "../history.ts";
import type { Budget } from "../loop/limits.ts";
import type { Masker } from "../masker.ts";
import type { ToolCall, ToolMessage } from "../messages.ts";
import type { ToolDefinition, Usage } from "../model.ts";
import { allowAll, type Policy } from "../policy/policy.ts";
import type { Asking, Decision } from "../questions.ts";
import { cutText } from "../well-formed.ts";
import { type Ending, runBounded } from "./bounded-run.ts";
import { type CircuitBreaker, createCircuitBreaker } from "./breaker.ts";
import { describeTool } from "./definition.ts";
import type { Tool, ToolEffect, ToolResult, ToolServices } from "./tool.ts";

/** Runs every tool call of a turn, each in the same order of steps. */
export interface Dispatcher {
  /** What the model is told about the tools; always the same objects, so that the prompt stays cacheable. */
  readonly definitions: readonly ToolDefinition[];
  /** `read` for an unknown name: such a call is answered and never runs. */
  effectOf(name: string): ToolEffect;
  /** What people must decide before the call goes on, by the policy or because the tool asks. */
  asks(call: ToolCall): Asking | undefined;
  /**
   * Never throws: whatever happens, the call gets its one result. A call that must be approved runs only with its
   * approval as the `decision`.
   */
  dispatch(call: ToolCall, signal: AbortSignal, given?: Given): Promise<CallOutcome>;
}

/** What a call is given on its way. */
interface Given {
  /** What it may spend on models. */
  budget?: Budget;
  /** What people have decided about it. */
  decision?: Decision;
}

export interface CallOutcome {
  message: ToolMessage;
  durationMs: number;
  /** What models cost that the tool called. */
  usage?: Usage;
  /** What a sub-agent did. */
  inner?: InnerCalls;
}

export interface DispatcherOptions {
  tools: readonly Tool[];
  services: ToolServices;
  masker: Masker;
  /** Told about every tool that throws; the model only sees the trace id. */
  onError(traceId: string, error: unknown, call: ToolCall): void;
  /** Live output of running tools, masked. */
  output?(callId: string, chunk: string): void;
  /** Default: every call may run. */
  policy?: Policy;
  /** Default: one for this dispatcher. Hand one in to remember failures for longer. */
  breaker?: CircuitBreaker;
  /** How long an aborted tool may take to say what it did, in milliseconds. Default 1,000. */
  graceMs?: number;
}

/** One call under way. */
interface CallRun extends Given {
  call: ToolCall;
  signal: AbortSignal;
}

const defaultLimits: TextLimits = { lines: 2_000, size: 51_200 };
const defaultTimeoutMs = 600_000;

/** Throws when a tool's name is illegal or taken twice, or when its input is not an object. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { services, masker, onError, output, policy = allowAll, graceMs = 1_000 } = options;
  const breaker = options.breaker ?? createCircuitBreaker({ now: () => services.now() });
  const tools = new Map<string, Tool>();
  for (const tool of options.tools) {
    if (tools.has(tool.name)) throw new Error(`Two tools are named "${tool.name}"; rename one of them.`);
    tools.set(tool.name, tool);
  }

  return {
    definitions: options.tools.map(describeTool),
    effectOf: (name) => tools.get(name)?.effect ?? "read",
    asks(call) {
      const checked = check(call);
      if (!checked.ok) return undefined;
      const { tool, input } = checked;
      const rule = policy(tool, input);
      const own = tool.asks?.(input);
      if (rule.action === "deny") return undefined;
      if (own) return { kind: "choice", ...own };
      return rule.action === "ask" ? { kind: "approval", why: rule.why } : undefined;
    },
    async dispatch(call, signal, given = {}) {
      const startedAt = performance.now();
      const result = await answer({ call, signal, ...given });
      const text = await bound(call, result, signal);
      const message: ToolMessage = {
        role: "tool",
        callId: call.id,
        name: call.name,
        status: result.status,
        text,
      };
      if (result.images?.length) message.images = result.images;
      const durationMs = performance.now() - startedAt;
      return { message, durationMs, ...accountOf(result) };
    },
  };

  /** Known name, then schema. */
  function check(call: ToolCall): { ok: true; tool: Tool; input: unknown } | { ok: false; problem: string } {
    const no = (problem: string) => ({ ok: false, problem }) as const;
    const tool = tools.get(call.name);
    if (!tool)
      return no(`Unknown tool "${shorten(call.name)}". Valid tools: ${[...tools.keys()].join(", ")}.`);
    if (call.malformed !== undefined) {
      return no(
        `invalid JSON arguments for ${tool.name}: ${jsonProblem(call.malformed)}. Send one JSON object.`,
      );
    }
    const parsed = tool.input.safeParse(call.input);
    if (parsed.success) return { ok: true, tool, input: parsed.data };
    const fields = parsed.error.issues
      .slice(0, 8)
      .map((issue) => `${fieldName(issue.path)}: ${issue.message}`);
    return no(`INVALID_PARAM: ${tool.name} was not run. ${shorten(fields.join("; "), 800)}.`);
  }

  async function answer(run: CallRun): Promise<ToolResult> {
    const checked = check(run.call);
    if (!checked.ok) return failure(checked.problem);
    try {
      return await runAllowed(checked.tool, checked.input, run);
    } catch (error) {
      return thrown(run.call, error);
    }
  }

  /** Why the call must not run; undefined when it may. */
  function denial(tool: Tool, input: unknown, decision: Decision | undefined): string | undefined {
    const rule = policy(tool, input);
    if (rule.action === "allow") return undefined;
    const denied = `DENIED: ${tool.name} was not run: ${rule.why}`;
    if (rule.action === "deny") return denied;
    // Whoever answers a tool's own question has seen it.
    if (decision?.kind === "approved" || tool.asks) return undefined;
    return `${denied} A person must approve it first, and nobody can be asked here: leave it, and report it as open.`;
  }

  async function runAllowed(
    tool: Tool,
    input: unknown,
    { call, signal, budget, decision }: CallRun,
  ): Promise<ToolResult> {
    const denied = denial(tool, input, decision);
    if (denied !== undefined && !signal.aborted) return failure(denied);
    if (signal.aborted) return ended(call, signal, " before it ran");

    const entry = breaker.enter(tool.name);
    if (!entry.ok) {
      const wait = `Use another way, or try again in ${Math.ceil(entry.retryInMs / 1000)} s.`;
      return failure(
        `CIRCUIT_OPEN: ${tool.name} was not run: it failed ${entry.failures} times in a row. ${wait}`,
      );
    }
    const live = masker.stream((chunk) => output?.(call.id, chunk));
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
    entry.pass.settle(signal.aborted ? "undecided" : worked(ending) ? "worked" : "failed");
    return conclude(tool, call, ending, signal);
  }

  function conclude(tool: Tool, call: ToolCall, ending: Ending, signal: AbortSignal): ToolResult {
    // What was done before the abort counts: the model must know that the file was written.
    if (ending.kind === "returned" && ending.result.status === "ok") return ending.result;
    const said = ending.kind === "returned" ? ending.result : undefined;
    if (signal.aborted) {
      const when = ending.kind === "abandoned" ? " before it could say what it had done" : "";
      return ended(call, signal, when, said);
    }
    if (ending.timedOut) {
      const seconds = (tool.timeoutMs ?? defaultTimeoutMs) / 1000;
      const first = `TIMEOUT: ${tool.name} was ended after ${seconds} s; what it had begun may be half done.`;
      return said ? { ...said, status: "partial", text: `${first}\n${said.text}` } : failure(first);
    }
    switch (ending.kind) {
      case "returned":
        return ending.result;
      case "threw":
        return thrown(call, ending.error);
      case "abandoned":
        return failure(`${tool.name} did not end.`);
    }
  }

  function thrown(call: ToolCall, error: unknown): ToolResult {
    const traceId = randomUUID().slice(0, 8);
    onError(traceId, error, call);
    return failure(
      `${call.name} failed unexpectedly (trace ${traceId}). Try another way; an operator can look it up.`,
    );
  }

  /** Masks before it cuts: half a secret would not be recognised, and the full text goes to a file. */
  async function bound(call: ToolCall, result: ToolResult, signal: AbortSignal): Promise<string> {
    const text = masker.mask(result.text);
    const limits = tools.get(call.name)?.limits ?? defaultLimits;
    if (fits(text, limits)) return text;
    const path = await spill(call, text, signal);
    const more = path ? `All of it is in ${path}: use read_file or search_files.` : "The rest was not kept.";
    return truncate(text, limits, { keep: "both", more });
  }

  /** Keeps the full text in the workspace. Not after an abort: a stopped thread starts no process. */
  async function spill(call: ToolCall, text: string, signal: AbortSignal): Promise<string | undefined> {
    const { sandbox } = services;
    if (!sandbox || signal.aborted) return undefined;
    const path = `.heddle/output/${call.name}-${call.id.replace(/[^A-Za-z0-9_-]/g, "").slice(-24)}.txt`;
    try {
      // Keeps the folder out of the repository that the workspace may be.
      await sandbox.writeFile(".heddle/.gitignore", Buffer.from("*\n"), { ifSha256: null, signal });
      const written = await sandbox.writeFile(path, Buffer.from(text), { signal });
      return written.ok ? path : undefined;
    } catch (error) {
      onError(randomUUID().slice(0, 8), error, call);
      return undefined;
    }
  }
}

/** Whether the tool itself is in order; wrong arguments are no fault of it. */
function worked(ending: Ending): boolean {
  return ending.kind === "returned" && !ending.timedOut && ending.result.outage !== true;
}

function failure(text: string): ToolResult {
  return { status: "error", text };
}

/** The result of a call that the turn's end cut off, with what the tool had to say. */
function ended(call: ToolCall, signal: AbortSignal, when: string, said?: ToolResult): ToolResult {
  // Nothing else aborts a turn: see TurnAbort.
  const reason = signal.reason as TurnAbort;
  switch (reason.kind) {
    case "stop": {
      const text = `stopped by ${reason.order.by}${when}`;
      return said
        ? { ...said, status: "stopped", text: `${text}\n${said.text}` }
        : { status: "stopped", text };
    }
    case "shutdown":
    case "lost-lease":
      return {
        status: "unknown",
        text: answerUnknown(call).text,
        ...accountOf(said),
      };
  }
}

/** What is told of a call beside its result. */
function accountOf({ usage, inner }: Pick<ToolResult, "usage" | "inner"> = {}) {
  return { ...(usage && { usage }), ...(inner && { inner }) };
}

function jsonProblem(text: string): string {
  try {
    JSON.parse(text);
    return "not an object";
  } catch (error) {
    return shorten(error instanceof Error ? error.message : "not JSON", 200);
  }
}

function fieldName(path: readonly PropertyKey[]): string {
  return path.length === 0 ? "arguments" : path.map(String).join(".");
}

/** One line, cut: names and values in an error are the model's own and may be anything. */
function shorten(text: string, max = 64): string {
  return cutText(text.replace(/\s+/g, " "), max);
}
