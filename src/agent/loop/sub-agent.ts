import { z } from "zod";
import { consumeEvents } from "../consume-events.ts";
import type { ContextWindow } from "../context/compaction.ts";
import type { AgentEvent, CallEvent, StepEvent, TurnOutcome } from "../events.ts";
import type { Speaker } from "../messages.ts";
import type { LanguageModel } from "../model.ts";
import { cutText } from "../text/text.ts";
import type { Dispatcher } from "../tools/dispatch/dispatch.ts";
import { defineTool, type Tool, type ToolResult } from "../tools/tool.ts";
import { collectInnerCalls } from "./calls/inner-calls.ts";
import type { TurnLimits } from "./limits.ts";
import type { ReadProjectInstructions } from "./prompt/project-instructions.ts";
import { runTurn } from "./run-turn.ts";
import type { Situation } from "./prompt/situation.ts";

export interface SubAgentOptions {
  model: LanguageModel;
  context: ContextWindow;
  /** The system prompt of the agent that delegates. */
  system: string;
  /** Creates the tools for each sub-agent anew: what its tools know about the files is its own. */
  tools(): readonly Tool[];
  createDispatcher(tools: readonly Tool[]): Dispatcher;
  /** Hides secrets in the arguments of its calls, before these are cut. */
  mask(text: string): string;
  /** See `Turn`. */
  meter?(model: LanguageModel): LanguageModel;
  /** See `Turn`. */
  situation?: Situation;
  /** Makes a reader for each sub-agent, whose view is its own. See `Turn`. */
  createProjectReader?(): ReadProjectInstructions;
  /** Of one sub-agent, within what the turn has left for all calls of a step. Default 30 steps and 20 minutes. */
  limits?: TurnLimits;
  /**
   * Called with what a sub-agent does in the call `callId`. Its tools run only once this has resolved; a rejection ends
   * the sub-agent.
   */
  onEvent?(callId: string, event: StepEvent | CallEvent): void | Promise<void>;
  /** How many levels of sub-agents there may be. Default 1: they have none of their own. */
  depth?: number;
}

const defaultLimits: TurnLimits = { steps: 30, wallMs: 20 * 60_000 };

/** How far the last step of a sub-agent may overshoot its wall time, in milliseconds. */
const overshootMs = 10 * 60_000;

/** Not Heddle's own voice: compaction keeps what people ask, and this is what the sub-agent is asked. */
const delegator: Speaker = { id: "agent", name: "The agent that asks" };

const part = `## Your part
You are not talking to people now: another agent has handed you one piece of its work. You see nothing else of the conversation and cannot ask back. Do that piece and no more. Your last reply goes to that agent alone: what you did, what you found, the paths of files, and what stayed open.`;

const input = z.object({
  task: z.string().trim().min(1).max(20_000),
  access: z
    .enum(["read", "all"])
    .default("read")
    .describe("read: the helper can look, on the web too, and change nothing"),
});

/**
 * The tool that runs a sub-agent: a turn of its own with a fresh context, in the same sandbox. Only its report and the
 * beginnings of its calls are journalled, so an interrupted sub-agent is never resumed.
 */
export function createTaskTool(options: SubAgentOptions): Tool {
  const { depth = 1, limits = defaultLimits } = options;
  return defineTool({
    name: "task",
    description:
      "Hand a self-contained piece of work to a helper with a context of its own, and get its report: for what takes " +
      "much reading and has a short result. It knows nothing of this conversation, so say all that it needs and what " +
      "to report. Helpers that only read run side by side when you call them in one reply.",
    input,
    effect: "write",
    readsOnly: ({ access }) => access === "read",
    timeoutMs: limits.wallMs + overshootMs,
    async run({ task, access }, { callId, signal, output, now, budget }) {
      const tools = () => options.tools().filter((tool) => access === "all" || isReading(tool));
      const onEvent: SubAgentOptions["onEvent"] = (inner, event) =>
        options.onEvent?.(`${callId}/${inner}`, event);
      const below = depth > 1 ? [createTaskTool({ ...options, tools, onEvent, depth: depth - 1 })] : [];
      const id = `${callId}:task`;
      const ending = new AbortController();
      const turn = runTurn({
        id,
        history: {
          messages: [{ role: "user", id, author: delegator, text: task, at: now() }],
          open: [],
          turn: undefined,
        },
        model: options.model,
        context: options.context,
        system: `${options.system}\n\n${part}`,
        tools: options.createDispatcher([...tools(), ...below]),
        limits,
        ...(budget && { budget }),
        ...(options.meter && { meter: options.meter }),
        ...(options.situation && { situation: options.situation }),
        ...(options.createProjectReader && { readProjectInstructions: options.createProjectReader() }),
        signal: AbortSignal.any([signal, ending.signal]),
        now,
      });
      const log: string[] = [];
      const calls = collectInnerCalls(options.mask);
      const outcome = await consumeEvents(
        turn,
        (reason) => ending.abort(reason),
        async (event) => {
          calls.add(event);
          if (isWork(event)) await options.onEvent?.(callId, event);
          const line = describeEvent(event, options.mask);
          if (line === undefined) return;
          log.push(line);
          output(`${line}\n`);
        },
      );
      const inner = calls.read();
      return { ...reportOutcome(outcome, log), ...(inner && { inner }) };
    },
  });
}

function isReading({ effect, onlyReads }: Tool): boolean {
  return effect === "read" || onlyReads === true;
}

function isWork(event: AgentEvent): event is StepEvent | CallEvent {
  return ["step-start", "retry", "assistant", "tool-start", "tool-end"].includes(event.type);
}

/** What the thread sees of a sub-agent's work, and the agent when that was cut short. */
function describeEvent(event: AgentEvent, mask: SubAgentOptions["mask"]): string | undefined {
  switch (event.type) {
    case "tool-start":
      return `▸ ${event.call.name} ${toOneLine(mask(JSON.stringify(event.call.input)))}`;
    case "tool-end": {
      const { status, text } = event.message;
      return status === "ok" ? undefined : `  ${status}: ${toOneLine(text)}`;
    }
    case "retry":
      return `… ${event.reason}`;
    case "notice":
      return `… ${event.text}`;
    default:
      return undefined;
  }
}

function reportOutcome(outcome: TurnOutcome, log: readonly string[]): ToolResult {
  const { usage } = outcome;
  const done = log.length === 0 ? "It had done nothing yet." : `It had done this:\n${log.join("\n")}`;
  switch (outcome.kind) {
    case "answered":
      return { status: "ok", text: outcome.text, usage };
    case "step-limit":
    case "budget":
      return {
        status: "partial",
        text: `The helper was ended at its limit of ${outcome.limit}. ${outcome.text ? `It said:\n${outcome.text}` : done}`,
        usage,
      };
    case "refused":
    case "model-error":
      return { status: "error", text: `The helper did not finish: ${outcome.text}\n${done}`, usage };
    case "stopped":
    case "waiting":
    case "suspended":
    case "lost-lease":
      return { status: "stopped", text: done, usage };
  }
}

function toOneLine(text: string): string {
  return cutText(text.trim().replace(/\s+/g, " "), 120);
}
