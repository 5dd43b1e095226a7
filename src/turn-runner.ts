import { type ChatSurface, parseThreadId, SurfaceError, type ThreadId } from "./adapters/adapter.ts";
import { createContextKeeper } from "./agent/context/compaction.ts";
import type { Masker } from "./agent/context/mask.ts";
import { createTokenCounter } from "./agent/context/tokens.ts";
import type { LanguageModel } from "./agent/llm/model.ts";
import { runTurn, type TurnLimits } from "./agent/loop.ts";
import type { McpPool } from "./agent/mcp/pool.ts";
import { systemPrompt } from "./agent/prompt.ts";
import { skillCatalogue } from "./agent/skills/catalogue.ts";
import { createGetSkillTool } from "./agent/skills/get-skill.ts";
import type { SkillLibrary } from "./agent/skills/library.ts";
import { sandboxTools, sessionTools } from "./agent/tools/core.ts";
import { createDispatcher } from "./agent/tools/dispatch.ts";
import type { NoteStore } from "./agent/tools/notes.ts";
import type { ToolServices } from "./agent/tools/tool.ts";
import type { TurnRunner } from "./queue/drive.ts";
import type { Sandbox, SandboxBackend } from "./sandbox/sandbox.ts";
import type { Logger } from "./telemetry/log.ts";

export interface TurnRunnerOptions {
  model: LanguageModel;
  limits: TurnLimits;
  instructions: string;
  /** Undefined when the probe failed; then `noSandbox` says why. */
  backend: SandboxBackend | undefined;
  noSandbox: string;
  notes(thread: ThreadId): NoteStore;
  surface(platform: string): ChatSurface;
  skills: SkillLibrary;
  mcp: McpPool;
  masker: Masker;
  log: Logger;
}

/** What the list of skills may cost in every prompt, in tokens. */
const catalogueTokens = 2_000;

const nothingKilled = { commands: 0, processes: 0, survivors: 0, durationMs: 0 };

/** Puts the agent together for each turn: model, prompt, the thread's sandbox and the tools that it allows. */
export function createTurnRunner(options: TurnRunnerOptions): TurnRunner {
  const { backend, model, masker, log } = options;
  const counter = createTokenCounter();
  const context = createContextKeeper({ model, counter });
  const opened = new Map<ThreadId, Promise<Sandbox>>();

  const sandboxOf = (thread: ThreadId): Promise<Sandbox> | undefined => {
    if (!backend) return undefined;
    const known = opened.get(thread) ?? backend.open(thread);
    opened.set(thread, known);
    // A workspace that could not be made is tried again by the next turn.
    known.catch(() => opened.delete(thread));
    return known;
  };

  const deliver = (thread: ThreadId): ToolServices["deliver"] => {
    const ref = parseThreadId(thread);
    return async ({ name, data, key }) => {
      try {
        await options.surface(ref.platform).upload(ref, { name, data }, key);
        return { ok: true };
      } catch (error) {
        if (!(error instanceof SurfaceError)) throw error;
        return { ok: false, message: error.message };
      }
    };
  };

  return {
    async *run({ thread, turn, history, followUps, emit, signal }) {
      const sandbox = await sandboxOf(thread);
      const deliverFile = deliver(thread);
      const services: ToolServices = {
        notes: options.notes(thread),
        now: Date.now,
        ...(sandbox && { sandbox }),
        ...(deliverFile && { deliver: deliverFile }),
      };
      const [{ skills }, mcpTools] = await Promise.all([options.skills.current(), options.mcp.tools(signal)]);
      const system = systemPrompt({
        noSandbox: options.noSandbox,
        instructions: options.instructions,
        skills: skillCatalogue(skills, catalogueTokens, counter.count),
      });
      const tools = createDispatcher({
        tools: [
          ...(sandbox ? sandboxTools() : []),
          ...sessionTools(),
          ...(skills.length > 0 ? [createGetSkillTool(skills)] : []),
          ...mcpTools,
        ],
        services,
        masker,
        onError: (trace, error, call) =>
          log.error({ err: error, trace, tool: call.name, thread }, "a tool failed"),
        output: (callId, chunk) => emit({ type: "tool-output", callId, chunk }),
      });
      const { limits } = options;
      return yield* runTurn({
        id: turn,
        history,
        model,
        tools,
        system,
        context,
        limits,
        followUps,
        signal,
        now: Date.now,
      });
    },

    async killAll(thread) {
      const sandbox = await opened.get(thread);
      return sandbox ? await sandbox.killAll() : nothingKilled;
    },

    async filesChanged(thread, since) {
      const sandbox = await opened.get(thread);
      const listed = await sandbox?.listFiles();
      if (!listed?.ok) return [];
      return listed.entries
        .filter(
          ({ type, path, modifiedAt }) =>
            type === "file" && modifiedAt >= since && !path.startsWith(".heddle/"),
        )
        .map(({ path }) => path);
    },
  };
}
