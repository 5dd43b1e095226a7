import {
  type CompactionPolicy,
  type ContextWindow,
  createContextWindow,
} from "../agent/context/compaction.ts";
import { createTokenCounter } from "../agent/context/tokens.ts";
import type { JournalRecord } from "../agent/journal.ts";
import { meteredModel } from "../agent/llm/metered-model.ts";
import type { TurnLimits } from "../agent/loop/limits.ts";
import { buildSystemPrompt } from "../agent/loop/prompt.ts";
import { formatNoteIndex } from "../agent/loop/note-index.ts";
import { runTurn } from "../agent/loop/run-turn.ts";
import { createTaskTool } from "../agent/loop/sub-agent.ts";
import type { Masker } from "../agent/masker.ts";
import type { McpPool } from "../agent/mcp/pool.ts";
import { isFromPerson, type Speaker, type UserMessage } from "../agent/messages.ts";
import type { LanguageModel } from "../agent/model.ts";
import type { NoteStore } from "../agent/note-store.ts";
import type { Policy } from "../agent/policy/policy.ts";
import type { ScheduleStore } from "../agent/schedule-store.ts";
import { formatSkillCatalogue } from "../agent/skills/catalogue.ts";
import { createGetSkillTool } from "../agent/skills/get-skill.ts";
import type { SkillLibrary } from "../agent/skills/library.ts";
import { askUser } from "../agent/tools/ask-user.ts";
import { type CircuitBreaker, createCircuitBreaker } from "../agent/tools/breaker.ts";
import { sandboxTools, sessionTools } from "../agent/tools/core.ts";
import { createDispatcher, type DispatcherOptions } from "../agent/tools/dispatch.ts";
import type { Tool, ToolServices } from "../agent/tools/tool.ts";
import { type ChatSurface, SurfaceError } from "../chat/surface.ts";
import { parseThreadId, type ThreadId } from "../chat/threads.ts";
import type { MessageExtras, Reading } from "../message-extras/message-extras.ts";
import type { Budgets } from "../queue/budgets/budgets.ts";
import { noChanges, type TurnRunner } from "../queue/turns/contracts.ts";
import type { SandboxHealth } from "../sandbox/health.ts";
import { nothingKilled } from "../sandbox/sandbox.ts";
import type { Logger } from "../telemetry/log.ts";
import { type ChannelSettings, isListed } from "./channel-settings.ts";
import type { Models } from "./models.ts";

export interface TurnRunnerOptions extends Pick<Models, "choose" | "summariser"> {
  limits: TurnLimits;
  compaction: Partial<CompactionPolicy>;
  budgets: Pick<Budgets, "turnBudget">;
  instructions: string;
  /** What is different in the thread's channel. */
  channel(thread: ThreadId): Partial<ChannelSettings>;
  messageExtras: MessageExtras;
  sandbox: SandboxHealth;
  /** The notes that count in a thread while these people speak, the last of them now. */
  notes(thread: ThreadId, speakers: () => readonly Speaker[]): NoteStore;
  /**
   * What is planned in a thread; `asked` is the person's message that its turn works on. Absent where nothing can
   * start a turn by itself.
   */
  schedules?(thread: ThreadId, asked: () => UserMessage | undefined): ScheduleStore;
  /** A thread's whole journal. */
  journal(thread: ThreadId): Promise<JournalRecord[]>;
  surface(platform: string): ChatSurface;
  skills: SkillLibrary;
  mcp: McpPool;
  masker: Masker;
  /** Which calls run, are asked for, or are denied; holds for sub-agents too, which cannot ask. */
  policy: Policy;
  /** How long a question to people stays open, ms. */
  questionMs: number;
  log: Logger;
}

/** What the list of skills may cost in every prompt, in tokens. */
const catalogueTokens = 2_000;

/** Puts the agent together for each turn: model, prompt, the thread's sandbox and the tools that it allows. */
export function createAgentRunner(options: TurnRunnerOptions): TurnRunner {
  const { summariser, limits, compaction, masker, log } = options;
  const counter = createTokenCounter();
  const contexts = new Map<LanguageModel, ContextWindow>();
  const breaker = createCircuitBreaker({ now: Date.now });
  const { backend } = options.sandbox;

  /** One for each model: what it learns about sizes is the model's. */
  const contextOf = (model: LanguageModel): ContextWindow => {
    const context =
      contexts.get(model) ?? createContextWindow({ model, summariser, counter, policy: compaction });
    contexts.set(model, context);
    return context;
  };

  const settle = async (thread: ThreadId) => {
    try {
      await backend.settle(thread);
    } catch (error) {
      log.error({ err: error, thread }, "the workspace could not be saved for other workers");
    }
  };

  const deliverTo = (thread: ThreadId): NonNullable<ToolServices["deliver"]> => {
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
    async *run({ thread, turn, history, followUps, store, emit, signal }) {
      const turnLog = log.child({ thread, turn });
      const channel = options.channel(thread);
      const model = options.choose(thread, history.chosenModel);
      const context = contextOf(model);
      const probe = await options.sandbox.refresh();
      const sandbox = probe.ok ? await backend.open(thread) : undefined;
      sandbox?.noteFiles(turn);
      const asked = (history.turn?.asked ?? []).filter(isFromPerson);
      const notes = options.notes(thread, () => asked.map(({ author }) => author));
      const services: ToolServices = {
        notes,
        ...(options.schedules && { schedules: options.schedules(thread, () => asked.at(-1)) }),
        history: () => options.journal(thread),
        now: Date.now,
        ...(sandbox && { sandbox }),
        deliver: deliverTo(thread),
      };
      const [library, mcpTools] = await Promise.all([options.skills.current(), options.mcp.tools(signal)]);
      const skills = library.skills.filter(({ name }) => isListed(channel.skills, name));
      const reading: Omit<Reading, "fromStart"> = {
        ...(sandbox && { sandbox }),
        images: model.limits.images,
        skills: skills.map(({ name }) => name),
        store,
        notice: (text) => void emit({ type: "notice", text }),
        signal,
      };
      const messages = await options.messageExtras.open(thread, history.messages, {
        ...reading,
        fromStart: true,
      });
      const system = buildSystemPrompt({
        noSandbox: probe.ok ? "" : probe.problems.map(({ what, fix }) => `${what} ${fix}`).join(" "),
        sandboxNote: backend.note(thread),
        instructions: [options.instructions, channel.instructions].filter(Boolean).join("\n\n"),
        skills: formatSkillCatalogue(skills, catalogueTokens, counter.count),
      });
      const dispatch: Omit<DispatcherOptions, "tools"> = {
        services,
        masker,
        policy: options.policy,
        onError: (trace, error, call) =>
          turnLog.error({ err: error, trace, tool: call.name, call: call.id }, "a tool failed"),
        breaker: ofThread(breaker, thread),
      };
      const makeTools = () => [
        ...(sandbox ? sandboxTools() : []),
        ...sessionTools(),
        ...(skills.length > 0 ? [createGetSkillTool(skills)] : []),
        ...mcpTools,
      ];
      const allowed = ({ name }: Tool) => isListed(channel.tools, name);
      const turnBudget = options.budgets.turnBudget(thread, history.turn);
      const meter = (unmetered: LanguageModel) => meteredModel({ model: unmetered, turnBudget, counter });
      const task = createTaskTool({
        model,
        meter,
        context,
        system,
        tools: () => makeTools().filter(allowed),
        onEvent: (callId, event) => emit({ type: "helper", callId, event }),
        dispatcher: (tools) => createDispatcher({ ...dispatch, tools }),
      });
      const tools = createDispatcher({
        ...dispatch,
        tools: [...makeTools(), askUser, task].filter(allowed),
        output: (callId, chunk) => void emit({ type: "tool-output", callId, chunk }),
      });
      const outcome = yield* runTurn({
        id: turn,
        history: { ...history, messages },
        model,
        tools,
        system,
        context,
        meter,
        limits,
        questionMs: options.questionMs,
        async followUps() {
          const arrived = await followUps();
          asked.push(...arrived.filter(isFromPerson));
          return options.messageExtras.open(thread, arrived, { ...reading, fromStart: false });
        },
        async readNoteIndex() {
          try {
            return formatNoteIndex(await notes.list());
          } catch (error) {
            // A turn without its notes is better than none.
            turnLog.error({ err: error }, "the notes could not be read");
            return undefined;
          }
        },
        signal,
        now: Date.now,
      });
      // Whoever took the lease has its own files now.
      if (sandbox && outcome.kind !== "lost-lease") {
        await store();
        await settle(thread);
      }
      return outcome;
    },

    async killAll(thread) {
      // Asked for at once: whoever aborts the turn next ends the same processes, and they would not be counted.
      return (await backend.opened(thread)?.sandbox.killAll()) ?? nothingKilled;
    },

    jobsLeft(thread) {
      const running = backend
        .opened(thread)
        ?.sandbox.jobs()
        .filter((job) => job.status().state === "running");
      return running?.length ? Promise.all(running.map((job) => job.wait())) : undefined;
    },

    async fileChanges(thread, since) {
      const known = backend.opened(thread);
      // Opening may have restored all of them.
      const times = { modified: since, changed: Math.max(since, known?.at ?? 0) };
      const changes = await known?.sandbox.changes(times);
      if (!changes?.ok) return noChanges;
      const shown = (paths: string[]) => paths.filter((path) => !path.startsWith(".heddle/"));
      return { changed: shown(changes.changed), deleted: shown(changes.deleted) };
    },
  };
}

/** One breaker serves the process, so that what is broken stays known between turns, for each thread by itself. */
function ofThread(breaker: CircuitBreaker, thread: ThreadId): CircuitBreaker {
  return { enter: (tool) => breaker.enter(`${thread} ${tool}`) };
}
