import { randomUUID } from "node:crypto";
import type { InnerCalls } from "../../events.ts";
import type { Masker } from "../../secrets/masker.ts";
import type { ToolCall, ToolMessage } from "../../messages.ts";
import type { ToolDefinition, Usage } from "../../model.ts";
import { type PolicyDecision, pickStricter } from "../../policy-decision.ts";
import { allowAll, type Policy } from "../../policy/policy.ts";
import type { Asking, NamedFile } from "../../questions.ts";
import { checkCall, type CheckedCall } from "./check-call.ts";
import { type CircuitBreaker, createCircuitBreaker } from "./circuit-breaker.ts";
import { areFound, isUnlockedName } from "./deferred-tools.ts";
import { describeTool } from "../definition.ts";
import { readNamedFiles } from "../files/named-files.ts";
import { createReviews } from "./review-call.ts";
import { limitOutput } from "../files/output-file.ts";
import { type CallRun, createFailure, pickAccount, runTool, type RunToolDeps } from "./run-tool.ts";
import { defaultLimits, type Tool, type ToolServices } from "../tool.ts";

/** Runs every tool call of a turn, each through the same steps: check, policy, circuit breaker, run, mask, cut. */
export interface Dispatcher {
  /** What the model is told about the tools; always the same objects, so that the prompt stays cacheable. */
  readonly definitions: readonly ToolDefinition[];
  /** The names of the tools that the model is not told about, and can find. */
  readonly deferred: ReadonlySet<string>;
  /**
   * Whether a call of it stands in the conversation as one of a tool that was found, whoever asked then. Absent where all
   * tools are sent.
   */
  readonly wasFound?: (name: string) => boolean;
  /** Whether the call changes nothing. So it is with one that is refused: it is answered and never runs. */
  readsOnly(call: ToolCall): boolean;
  /**
   * Has tools review calls, which findAsking then knows of. To be called before it for all calls of a step. Resolves soon
   * after the signal, with nothing more looked at.
   */
  reviewCalls(calls: readonly ToolCall[], signal: AbortSignal): Promise<void>;
  /** What people must decide before the call goes on: by the policy, after a review, or because the tool asks. */
  findAsking(call: ToolCall): Asking | undefined;
  /** The files of the workspace that a call names which runs a command, or what its tool pins, as they are now. Never throws. */
  readFiles(call: ToolCall, signal: AbortSignal): Promise<NamedFile[]>;
  /**
   * Never throws: whatever happens, the call gets its one result. A call that must be approved runs only with its
   * approval as the `decision`.
   */
  dispatch(
    call: ToolCall,
    signal: AbortSignal,
    given?: Pick<CallRun, "budget" | "decision">,
  ): Promise<CallOutcome>;
}

/** The result of a call, with what is recorded besides it. */
export interface CallOutcome {
  message: ToolMessage;
  durationMs: number;
  /** Of the models that the tool called. */
  usage?: Usage;
  /** What a sub-agent did. */
  inner?: InnerCalls;
}

export interface DispatcherOptions {
  tools: readonly Tool[];
  /** Tools that can be called and are not told to the model; those of `createDeferredAccess` are among `tools` then. */
  deferred?: readonly Tool[];
  services: ToolServices;
  masker: Masker;
  /** Called with every error that a tool throws; the model only sees the trace id. */
  onError(traceId: string, error: unknown, call: ToolCall): void;
  /** Live output of running tools, masked. */
  output?(callId: string, chunk: string): void;
  /** Default: every call may run. */
  policy?: Policy;
  /**
   * Whether people have approved these rules, by their ids, for the whole thread; asked when the policy asks. Where it
   * throws they have not. Default: nothing is approved so.
   */
  areApproved?(rules: readonly string[]): Promise<boolean>;
  /** Asked before each call runs, besides the policy. Must not throw. Default: nothing is held back. */
  permit?(): Promise<PolicyDecision>;
  /** Default: one for this dispatcher. Pass one in to remember failures for longer. */
  breaker?: CircuitBreaker;
  /** How long an aborted tool may take to say what it did, in milliseconds. Default 1,000. */
  graceMs?: number;
}

/** Throws when a tool's name is illegal or taken twice, or when its input is not an object. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { services, masker, onError, output, policy = allowAll, graceMs = 1_000 } = options;
  const breaker = options.breaker ?? createCircuitBreaker({ now: () => services.now() });
  const { deferred = [] } = options;
  const names = new Set(deferred.map(({ name }) => name));
  const tools = indexByName([...options.tools, ...deferred]);
  const toolbox = { tools, listed: options.tools.map(({ name }) => name) };
  const known = new WeakMap<ToolCall, CheckedCall>();
  /** A call is asked about several times before it runs. */
  const check = (call: ToolCall): CheckedCall => {
    const checked = known.get(call) ?? checkCall(call, toolbox);
    known.set(call, checked);
    return checked;
  };
  const reportError = (call: ToolCall, error: unknown): string => {
    const traceId = randomUUID().slice(0, 8);
    onError(traceId, error, call);
    return traceId;
  };
  const judge = withApprovals(policy, options.areApproved);
  const reviews = createReviews(services, reportError);
  const deps: RunToolDeps = {
    services,
    masker,
    async decide(run, tool, input) {
      const { call } = run;
      const permitted = await options.permit?.();
      if (permitted?.action === "deny") return permitted;
      await judge.look(call, tool, input);
      return pickStricter(judge.decide(call, tool, input), await reviews.review(run, tool, input));
    },
    breaker,
    graceMs,
    reportError,
    ...(output && { output }),
  };

  return {
    definitions: options.tools.map(describeTool),
    deferred: names,
    ...(areFound(deferred, options.tools) && {
      wasFound: (name: string) => names.has(name) || isUnlockedName(name, options.tools),
    }),
    readsOnly(call) {
      const tool = tools.get(call.name);
      if (!tool?.readsOnly) return !tool || tool.effect === "read" || tool.onlyReads === true;
      const checked = check(call);
      return !checked.ok || tool.effect === "read" || tool.readsOnly(checked.input);
    },

    async reviewCalls(calls, signal) {
      for (const call of calls) {
        if (signal.aborted) return;
        const checked = check(call);
        if (!checked.ok) continue;
        await judge.look(call, checked.tool, checked.input);
        if (checked.tool.review) await reviews.review({ call, signal }, checked.tool, checked.input);
      }
    },

    findAsking(call) {
      const checked = check(call);
      if (!checked.ok) return undefined;
      const { tool, input } = checked;
      const reviewed = reviews.find(call);
      const ruled = judge.decide(call, tool, input);
      const own = tool.asks?.(input);
      if (pickStricter(ruled, reviewed).action === "deny") return undefined;
      return own ? { kind: "choice", ...own } : toAsking(ruled, reviewed);
    },

    async readFiles(call, signal) {
      const { input } = call;
      const { sandbox } = services;
      const checked = check(call);
      if (checked.ok && checked.tool.pins) return await checked.tool.pins(checked.input, services, signal);
      const command = typeof input === "object" && input !== null && "command" in input ? input.command : "";
      return sandbox && typeof command === "string" ? await readNamedFiles(command, sandbox, signal) : [];
    },

    async dispatch(call, signal, given = {}) {
      const startedAt = performance.now();
      const checked = check(call);
      const result = checked.ok
        ? await runTool(checked.tool, checked.input, { call, signal, ...given }, deps)
        : createFailure(checked.problem);
      // Masked before it is cut: half a secret would not be recognised, and the full text goes to a file.
      const masked = masker.mask(result.text);
      const text = await limitOutput(masked, tools.get(call.name)?.limits ?? defaultLimits, {
        call,
        signal,
        sandbox: services.sandbox,
        onError: (error) => void reportError(call, error),
      });
      const message: ToolMessage = {
        role: "tool",
        callId: call.id,
        name: call.name,
        status: result.status,
        ...(result.notRun && { notRun: result.notRun }),
        text,
      };
      if (result.images?.length) message.images = result.images;
      return { message, durationMs: performance.now() - startedAt, ...pickAccount(result) };
    },
  };
}

/** What people decide where neither policy nor review denies the call. */
function toAsking(ruled: PolicyDecision, reviewed: PolicyDecision): Asking | undefined {
  // Whoever connects an account for the call has approved it.
  if (reviewed.action === "ask" && reviewed.connect) return { kind: "account", ...reviewed.connect };
  if (reviewed.action === "ask" && reviewed.input) return { kind: "input", request: reviewed.input };
  const rule = pickStricter(ruled, reviewed);
  if (rule.action !== "ask") return undefined;
  const { file, rules } = rule;
  if (reviewed.action === "ask" && reviewed.ownAccount) {
    const isRuled = ruled.action === "ask";
    const why = isRuled ? `${ruled.why} ${reviewed.why}` : reviewed.why;
    return { kind: "approval", why, owner: isRuled ? "also" : "alone", ...(file && { file }) };
  }
  // The tool would ask again.
  const canBeForThread = rules && reviewed.action === "allow";
  return { kind: "approval", why: rule.why, ...(file && { file }), ...(canBeForThread && { rules }) };
}

/** The policy with what people have approved for the whole thread, as it was when a call was last looked at. */
function withApprovals(policy: Policy, areApproved: DispatcherOptions["areApproved"]) {
  const approved = new Set<string>();
  return {
    async look({ id }: ToolCall, tool: Tool, input: unknown): Promise<void> {
      if (!areApproved) return;
      approved.delete(id);
      const decision = policy(tool, input);
      if (decision.action !== "ask" || !decision.rules) return;
      const rules = decision.rules.map((rule) => rule.id);
      if (await areApproved(rules).catch(() => false)) approved.add(id);
    },
    decide({ id }: ToolCall, tool: Tool, input: unknown): PolicyDecision {
      const decision = policy(tool, input);
      return decision.action === "ask" && decision.rules && approved.has(id) ? { action: "allow" } : decision;
    },
  };
}

function indexByName(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    if (byName.has(tool.name)) throw new Error(`Two tools are named "${tool.name}"; rename one of them.`);
    byName.set(tool.name, tool);
  }
  return byName;
}
