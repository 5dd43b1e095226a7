import type { z } from "zod";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { TextLimits } from "../context/truncate.ts";
import type { InnerCalls } from "../events.ts";
import type { JournalReader } from "../journal/journal.ts";
import type { SharedBudget } from "../loop/limits.ts";
import type { Image, NotRun, Speaker, ToolStatus } from "../messages.ts";
import type { Usage } from "../model.ts";
import type { NoteStore } from "../contracts/note-store.ts";
import type { PolicyDecision } from "../policy-decision.ts";
import type { PreviewAccess } from "../contracts/previews.ts";
import type { NamedFile } from "../questions.ts";
import type { RepositoryAccess } from "../contracts/repositories.ts";
import type { ScheduleStore } from "../contracts/schedule-store.ts";
import type { WebAccess } from "../contracts/web.ts";

/**
 * What a tool does to the world, declared by its author and used for every policy.
 *
 * - `read`: changes nothing; calls of one step may run in parallel.
 * - `write`: changes the thread's workspace or the session.
 * - `external`: reaches beyond the thread (network, other people, MCP servers).
 */
export type ToolEffect = "read" | "write" | "external";

export interface ToolResult {
  status: ToolStatus;
  /** With `error`: nobody was to let it run. */
  notRun?: NotRun;
  /** What the model reads. The dispatcher masks and truncates it. */
  text: string;
  images?: Image[];
  /** A file that belongs to the result, relative to the workspace. */
  artifact?: string;
  /** For displays and tests; never sent to the model. */
  details?: unknown;
  /**
   * What stands behind the tool did not work (unreachable, broken), whatever the arguments. The circuit breaker
   * counts it.
   */
  outage?: boolean;
  /** What models cost that the tool called, for the turn's account. */
  usage?: Usage;
  /** What a sub-agent did; never sent to the model. */
  inner?: InnerCalls;
}

/** How much text of a result reaches the model where its tool says nothing else. */
export const defaultLimits: TextLimits = { lines: 2_000, size: 51_200 };

/** What all tools of a turn share: whatever a tool can reach comes through here. */
export interface ToolServices {
  /** The thread's sandbox. Absent where commands cannot be isolated: see {@link defineSandboxTool}. */
  sandbox?: Sandbox;
  notes: NoteStore;
  /** What is planned for this thread. Absent where nothing can start a turn by itself. */
  schedules?: ScheduleStore;
  /** The session's journal. Absent where none is kept. */
  history?: JournalReader;
  /** Absent where the channel has nothing of the web. */
  web?: WebAccess;
  /** Absent where nothing may be shown to people in a browser. */
  previews?: PreviewAccess;
  /** Absent where the channel has none. */
  repositories?: RepositoryAccess;
  /**
   * Hands a file to the people in the thread. Absent where there is nobody to hand it to. `key` is the same for
   * every attempt to hand over the same file. Never throws for an expected failure.
   */
  deliver?(file: {
    name: string;
    data: Uint8Array;
    key: string;
    signal: AbortSignal;
  }): Promise<{ ok: true } | { ok: false; message: string }>;
  now(): number;
}

/** What one call may use. */
export interface ToolContext extends ToolServices {
  callId: string;
  /** Aborted on stop and on the dispatcher's time limit. */
  signal: AbortSignal;
  /**
   * What the turn may still spend, shared with the other calls of its step. A tool that calls models ends when it is used
   * up, and charges each call to it. Absent where nothing limits it.
   */
  budget?: SharedBudget;
  /** What a person answered to the question that the tool `asks`. Absent where nobody can be asked. */
  answer?: { by: Speaker; text?: string };
  /** Live output for the thread's progress; may be dropped. */
  output(chunk: string): void;
}

/**
 * One tool. Define it with {@link defineTool}, or with {@link defineSandboxTool} when it needs the workspace.
 *
 * ```ts
 * const add = defineTool({
 *   name: "add",
 *   description: "Adds two numbers.",
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   effect: "read",
 *   run: async ({ a, b }) => ({ status: "ok", text: String(a + b) }),
 * });
 * ```
 */
export interface Tool<Input = unknown> {
  /** At most 64 of `a-z A-Z 0-9 _ -` (the OpenAI limit); unique in a turn. */
  name: string;
  description: string;
  input: z.ZodType<Input>;
  /**
   * What the model is shown instead of `input` as JSON Schema, for a tool whose schema is not ours (MCP). Such a tool is
   * left out where the model's service does not take it.
   */
  schema?: Record<string, unknown>;
  /**
   * The arguments in the form of `input`, where models often send another one whose meaning is plain. Whatever else it is
   * given it returns as it is. Must not throw.
   */
  reshape?(given: unknown): unknown;
  /** Sent with every request, also where tools with a `schema` of their own are too many (see `deferTools`). */
  always?: boolean;
  /** Its definition may differ from person to person: it is never sent, but found, so that people of a thread share the prompt. */
  personal?: true;
  /** The server whose tools it makes available: these can be looked for whether or not there are any yet. */
  unlocks?: string;
  effect: ToolEffect;
  /** No call of it changes anything, although its `effect` is another: one that reads the web, for example. */
  onlyReads?: true;
  /**
   * Whether a call with this input changes nothing, although the tool's `effect` is another: then it may run beside other
   * calls of its step. Policies go by the `effect`.
   */
  readsOnly?(input: Input): boolean;
  /** Milliseconds after which the dispatcher aborts the call. Default 10 minutes. */
  timeoutMs?: number;
  /** How much text of a result reaches the model. Default 2,000 lines and 50 KiB. */
  limits?: TextLimits;
  /**
   * What the tool itself says about a call before it runs, where that takes more than its input. Counts beside the
   * operator's policy: the stricter of the two holds. Asked again when the turn is resumed. Where it throws, or takes more than two minutes, the
   * call is denied.
   */
  review?(input: Input, services: ToolServices, signal: AbortSignal): Promise<PolicyDecision>;
  /**
   * What an approval of the call is about beside the call itself, as it is at this moment: when that has changed, it is
   * asked again. Must not throw.
   */
  pins?(input: Input, services: ToolServices, signal: AbortSignal): Promise<NamedFile[]>;
  /** The question that a person answers before the tool runs; with no choices the answer is free text. */
  asks?(input: Input): { text: string; choices: string[] };
  /**
   * Gets input that `input` has parsed. Must not throw for an expected failure, but return a result with status `error`
   * and one line that tells the model what to change; what it throws goes to the operator's log. Must end soon after
   * `context.signal` is aborted: the dispatcher gives it a second to say what it did, then abandons it.
   */
  run(input: Input, context: ToolContext): Promise<ToolResult>;
}

/** Keeps the input type while the tool is written, and forgets it where tools are collected. */
export function defineTool<Input>(tool: Tool<Input>): Tool {
  // Safe although run() takes less than unknown: the dispatcher only calls it with what tool.input parsed.
  return tool;
}

/** The context of a tool that cannot work without a sandbox. */
export type SandboxToolContext = ToolContext & { sandbox: Sandbox };

/** A tool that is only registered where there is a sandbox. Called without one it refuses. */
export function defineSandboxTool<Input>(
  tool: Omit<Tool<Input>, "run"> & {
    run(input: Input, context: SandboxToolContext): Promise<ToolResult>;
  },
): Tool {
  return defineTool<Input>({
    ...tool,
    async run(input, context) {
      const { sandbox } = context;
      if (!sandbox) {
        return {
          status: "error",
          text: `${tool.name} needs a sandbox, and this host has none; ask the operator.`,
        };
      }
      return tool.run(input, { ...context, sandbox });
    },
  });
}
