import {
  type CompactionPolicy,
  type ContextWindow,
  createContextWindow,
} from "../agent/context/compaction.ts";
import { describeLargeFixed } from "../agent/context/fixed-part.ts";
import { createLearntWindows } from "../agent/context/learnt-windows.ts";
import { createTokenCounter, type TokenCounter } from "../agent/context/tokens.ts";
import type { AgentEvent, TurnOutcome } from "../agent/events.ts";
import type { JournalReader } from "../agent/journal.ts";
import { createMeteredModel } from "../agent/llm/metered-model.ts";
import { describeLeftOut, limitTools } from "../agent/llm/tool-limit.ts";
import type { TurnLimits } from "../agent/loop/limits.ts";
import { formatNoteIndex } from "../agent/loop/note-index.ts";
import { createProjectReader } from "../agent/loop/project-instructions.ts";
import { buildSystemPrompt, type PromptParts } from "../agent/loop/prompt.ts";
import { runTurn } from "../agent/loop/run-turn.ts";
import type { Situation } from "../agent/loop/situation.ts";
import type { SubAgentOptions } from "../agent/loop/sub-agent.ts";
import type { TurnOffer } from "../agent/loop/turn.ts";
import type { Masker } from "../agent/masker.ts";
import { formatServerInstructions } from "../agent/mcp/instructions.ts";
import type { McpOffer } from "../agent/mcp/offer.ts";
import type { McpPool } from "../agent/mcp/pool.ts";
import { isFromPerson, type Message, type Speaker, type UserMessage } from "../agent/messages.ts";
import type { LanguageModel } from "../agent/model.ts";
import type { NoteStore } from "../agent/note-store.ts";
import type { PolicyDecision } from "../agent/policy-decision.ts";
import type { Policy } from "../agent/policy/policy.ts";
import { limitToPlanning, listUnplanned, type Planning } from "../agent/planning.ts";
import type { ScheduleStore } from "../agent/schedule-store.ts";
import { formatSkillCatalogue } from "../agent/skills/catalogue.ts";
import type { SkillLibrary } from "../agent/skills/library.ts";
import { type CircuitBreaker, createCircuitBreaker } from "../agent/tools/circuit-breaker.ts";
import { createProposePlan } from "../agent/tools/propose-plan.ts";
import type { ToolServices } from "../agent/tools/tool.ts";
import { webFetchName } from "../agent/web.ts";
import { type ChatSurface, SurfaceError } from "../chat/surface.ts";
import { parseThreadId, type ThreadId } from "../chat/threads.ts";
import type { MessageExtras, Reading } from "../message-extras/message-extras.ts";
import type { Previews } from "../previews/previews.ts";
import type { Budgets } from "../queue/budgets/budgets.ts";
import { noChanges, type TurnRunner } from "../queue/turns/contracts.ts";
import type { Repositories } from "../repositories/repositories.ts";
import type { SandboxHealth } from "../sandbox/health.ts";
import { nothingKilled, type Sandbox, usefulPrograms } from "../sandbox/sandbox.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Web } from "../web/web.ts";
import { type ChannelSettings, isListed } from "./channel-settings.ts";
import type { SharedWindows } from "./learnt-windows.ts";
import type { Models } from "./models.ts";
import { catalogueTokens } from "./offer-size.ts";
import { openPlanning } from "./open-planning.ts";
import { createTurnTools, type TurnToolsOptions } from "./turn-tools.ts";

export interface TurnRunnerOptions extends Pick<Models, "choose" | "summariser" | "helper"> {
  limits: TurnLimits;
  compaction: Partial<CompactionPolicy>;
  budgets: Pick<Budgets, "turnBudget">;
  instructions: string;
  /** What a turn of the thread is told of time and place. Default: nothing. */
  situation?(thread: ThreadId): Promise<Situation>;
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
  journal(thread: ThreadId): JournalReader;
  /** What all processes have learnt of their models' windows. Default: this one learns alone. */
  windows?: SharedWindows;
  /** What threads have of the web. Default: nothing, and nothing is said of it. */
  web?: Web;
  /** Absent where nothing may be shown to people in a browser. */
  previews?: Pick<Previews, "of"> | undefined;
  /** What threads have of the repositories. Default: none. */
  repositories?: Pick<Repositories, "open">;
  surface(platform: string): ChatSurface;
  skills: SkillLibrary;
  mcp: McpPool;
  masker: Masker;
  /** Which calls run, are asked for, or are denied; holds for sub-agents too, which cannot ask. */
  policy: Policy;
  /** Asked before each call runs, whatever the rules say. `asked`: grows while the turn runs. */
  permit?(thread: ThreadId, asked: readonly UserMessage[]): () => Promise<PolicyDecision>;
  /** How long a question to people stays open, ms. */
  questionMs: number;
  log: Logger;
  /** Keeps what is named here until the turn has ended, which it calls the result for. */
  hold?(): () => void;
}

/**
 * Puts the agent together for each turn: model, prompt, the thread's sandbox and the tools that it allows.
 *
 * @param given the options, or what gives those that a turn begins with and keeps; the sandbox is always the same
 */
export function createAgentRunner(given: TurnRunnerOptions | (() => TurnRunnerOptions)): TurnRunner {
  const read = typeof given === "function" ? given : () => given;
  const { backend } = read().sandbox;
  const shared: Shared = {
    counter: createTokenCounter(),
    contexts: new WeakMap(),
    windows: read().windows ?? { learnt: createLearntWindows(), refresh: async () => {} },
    breaker: createCircuitBreaker({ now: Date.now }),
    warned: new Set(),
    plans: new Map(),
  };

  return {
    async *run(input) {
      const options = read();
      const release = options.hold?.();
      try {
        return yield* runAgent(options, shared, input);
      } finally {
        release?.();
      }
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
      const hideOwn = (paths: string[]) => paths.filter((path) => !path.startsWith(".heddle/"));
      const files = { changed: hideOwn(changes.changed), deleted: hideOwn(changes.deleted) };
      const planned = shared.plans.get(thread) ?? [];
      if (planned.length === 0) return files;
      return { ...files, unplanned: listUnplanned(planned, [...files.changed, ...files.deleted]) };
    },
  };
}

/** What the turns of a process share. */
interface Shared {
  counter: TokenCounter;
  /** One for each model with its fallbacks, as long as the options are the same. */
  contexts: WeakMap<TurnRunnerOptions, Map<LanguageModel, ContextWindow>>;
  windows: SharedWindows;
  /** What is broken stays known between turns, for each thread by itself. */
  breaker: CircuitBreaker;
  /** The files that the approved plan of a thread's turn names; of a turn that runs here, or was the last to. */
  plans: Map<ThreadId, readonly string[]>;
  /** What the log was told once. */
  warned: Set<string>;
}

type RunInput = Parameters<TurnRunner["run"]>[0];

async function* runAgent(
  options: TurnRunnerOptions,
  shared: Shared,
  input: RunInput,
): AsyncGenerator<AgentEvent, TurnOutcome> {
  const { thread, turn: id, claim, history, chosen, store, emit, signal } = input;
  const { backend } = options.sandbox;
  const log = options.log.child({ thread, turn: id });
  const channel = options.channel(thread);
  const model = options.choose(thread, chosen.model ?? history.chosenModel, chosen.effort);
  const context = contextOf(model, options, shared);
  const helper = options.helper ?? model;
  const probe = await options.sandbox.refresh();
  const sandbox = probe.ok ? await backend.open(thread, claim) : undefined;
  sandbox?.noteFiles(id);
  const asked = listAsked(input);
  const planning = await planTurn(options, shared, input, asked);
  const services = createServices(options, thread, asked, sandbox && keepFromWriting(sandbox, planning));
  const [library, offer, situation] = await Promise.all([
    options.skills.current(),
    options.mcp.offer(signal),
    options.situation?.(thread),
    shared.windows.refresh(),
  ]);
  const skills = library.skills.filter(({ name }) => isListed(channel.skills, name));

  const reading: Omit<Reading, "fromStart"> = {
    ...(sandbox && { sandbox }),
    images: model.limits.images,
    skills: skills.map(({ name }) => name),
    store,
    notice: (text) => void emit({ type: "notice", text }),
    signal,
  };
  const openExtras = <M extends Message>(messages: readonly (M | UserMessage)[], fromStart: boolean) =>
    options.messageExtras.open(thread, messages, { ...reading, fromStart });
  const messages = await openExtras(history.messages, true);
  const prompt = {
    ...describeSurroundings(options, thread, probe),
    skills: formatSkillCatalogue(skills, catalogueTokens, shared.counter.count),
  };
  const place = situation && { situation };
  const told = {
    ...place,
    ...(sandbox && provideProjectReader(options, { sandbox, model, signal, log })),
  };
  const meter = createMeter(options.budgets.turnBudget(thread, history.turn), shared);
  const assembleTools = createTurnTools({
    dispatch: shareCalls(options, shared, { thread, asked, services, planning, log }),
    subAgent: { model: helper, meter, context: contextOf(helper, options, shared), ...told },
    skills,
    ...{ limits: model.limits, counter: shared.counter },
    allowed: channel.tools,
    proposePlan: createProposePlan(planning),
    emit,
  });
  const assemble = ({ tools, instructions }: McpOffer): TurnOffer => {
    const said = instructions.filter((server) => server.tools.some((name) => isListed(channel.tools, name)));
    const system = buildSystemPrompt({ ...prompt, servers: formatServerInstructions(said) });
    const dispatcher = assembleTools({ tools, system });
    warnOfOffer({ system, tools: dispatcher.definitions }, { model, context, shared, log });
    return { system, tools: dispatcher };
  };
  const outcome = yield* runTurn({
    id,
    history: { ...history, messages },
    model,
    ...assemble(offer),
    renew: createRenewal(offer, assemble, signal),
    context,
    meter,
    limits: options.limits,
    questionMs: options.questionMs,
    async followUps() {
      const arrived = await input.followUps();
      asked.push(...arrived.filter(isFromPerson));
      return openExtras(arrived, false);
    },
    ...(services.history && { journal: services.history }),
    readNoteIndex: () => readNoteIndex(services.notes, log),
    ...place,
    ...(told.createProjectReader && { readProjectInstructions: told.createProjectReader() }),
    signal,
    now: Date.now,
  });
  // Whoever took the lease has its own files now.
  if (sandbox && outcome.kind !== "lost-lease") {
    await store();
    await settleWorkspace(options, thread);
  }
  return outcome;
}

/** What the calls of the turn and of its sub-agents share. */
function shareCalls(
  { masker, policy, permit, sandbox }: TurnRunnerOptions,
  { breaker }: Shared,
  turn: {
    thread: ThreadId;
    asked: readonly UserMessage[];
    services: ToolServices;
    planning: Planning;
    log: Logger;
  },
): TurnToolsOptions["dispatch"] {
  const { thread, services, log } = turn;
  return {
    ...{ services, masker },
    policy: limitToPlanning(policy, turn.planning, sandbox.backend.name !== "none"),
    ...(permit && { permit: permit(thread, turn.asked) }),
    onError: (trace, error, call) =>
      log.error({ err: error, trace, tool: call.name, call: call.id }, "a tool failed"),
    breaker: narrowToThread(breaker, thread),
  };
}

/** See `Turn.meter`. */
function createMeter(
  turnBudget: ReturnType<Budgets["turnBudget"]>,
  { counter }: Shared,
): (model: LanguageModel) => LanguageModel {
  return (model) => createMeteredModel({ model, turnBudget, counter });
}

/** What the system prompt says of place and operator, whatever the tools. */
function describeSurroundings(
  { channel, instructions, sandbox, web }: TurnRunnerOptions,
  thread: ThreadId,
  probe: Awaited<ReturnType<TurnRunnerOptions["sandbox"]["refresh"]>>,
): Omit<PromptParts, "servers" | "skills"> {
  const settings = channel(thread);
  return {
    noSandbox: probe.ok ? "" : probe.problems.map(({ what, fix }) => `${what} ${fix}`).join(" "),
    sandboxNote: sandbox.backend.note(thread),
    ...(web && isListed(settings.tools, webFetchName) && { web: web.describe(thread) }),
    installed: usefulPrograms.filter((program) => !probe.missing.includes(program)),
    has: (tool) => isListed(settings.tools, tool),
    planFirst: settings.plan === "ask",
    instructions: [instructions, settings.instructions].filter(Boolean).join("\n\n"),
  };
}

/** See `Turn.renew`. */
function createRenewal(
  offer: McpOffer,
  assemble: (offer: McpOffer) => TurnOffer,
  signal: AbortSignal,
): () => Promise<TurnOffer | undefined> {
  let current = offer;
  return async () => {
    const renewed = await current.renew(signal);
    current = renewed ?? current;
    return renewed && assemble(renewed);
  };
}

function contextOf(
  model: LanguageModel,
  options: TurnRunnerOptions,
  { contexts: all, counter, windows: { learnt } }: Shared,
): ContextWindow {
  const { summariser, compaction } = options;
  const contexts = all.get(options) ?? new Map<LanguageModel, ContextWindow>();
  all.set(options, contexts);
  const context =
    contexts.get(model) ?? createContextWindow({ model, summariser, counter, policy: compaction, learnt });
  contexts.set(model, context);
  return context;
}

/** @param asked the people's messages of the turn; grows while it runs */
function createServices(
  options: TurnRunnerOptions,
  thread: ThreadId,
  asked: readonly UserMessage[],
  sandbox: Sandbox | undefined,
): ToolServices {
  const history = options.journal(thread);
  const web = options.web?.open(thread, history);
  const repositories = options.repositories?.open(thread, () => asked.at(-1)?.author);
  return {
    notes: options.notes(thread, () => asked.map(({ author }) => author)),
    ...(options.schedules && { schedules: options.schedules(thread, () => asked.at(-1)) }),
    history,
    ...(web && { web }),
    ...(options.previews && { previews: options.previews.of(thread) }),
    ...(repositories && { repositories }),
    now: Date.now,
    ...(sandbox && { sandbox }),
    deliver: deliverTo(thread, options),
  };
}

function listAsked({ history }: RunInput): UserMessage[] {
  return (history.turn?.asked ?? []).filter(isFromPerson);
}

/** Whether the turn plans first. What an earlier turn's plan named is forgotten. */
function planTurn(
  { journal, channel }: TurnRunnerOptions,
  { plans }: Shared,
  { thread, history }: RunInput,
  asked: readonly UserMessage[],
): Promise<Planning> {
  plans.delete(thread);
  return openPlanning(history.turn, asked, journal(thread), {
    always: channel(thread).plan === "ask",
    onApproved: (files) => plans.set(thread, files),
  });
}

/** Its commands write nothing while a plan is still to be approved. */
function keepFromWriting(sandbox: Sandbox, planning: Pick<Planning, "isOn">): Sandbox {
  return {
    ...sandbox,
    exec: (request) => sandbox.exec(planning.isOn() ? { ...request, isReadOnly: true } : request),
  };
}

function deliverTo(
  thread: ThreadId,
  { surface }: Pick<TurnRunnerOptions, "surface">,
): NonNullable<ToolServices["deliver"]> {
  const ref = parseThreadId(thread);
  return async ({ name, data, key, signal }) => {
    try {
      await surface(ref.platform).upload(ref, { name, data }, key, signal);
      return { ok: true };
    } catch (error) {
      if (!(error instanceof SurfaceError)) throw error;
      return { ok: false, message: error.message };
    }
  };
}

/** The turn and each of its sub-agents have a reader of their own. */
function provideProjectReader(
  { masker }: Pick<TurnRunnerOptions, "masker">,
  {
    sandbox,
    model,
    signal,
    log,
  }: { sandbox: Sandbox; model: LanguageModel; signal: AbortSignal; log: Logger },
): Required<Pick<SubAgentOptions, "createProjectReader">> {
  const { contextTokens } = model.limits;
  const onError = (error: unknown) => log.error({ err: error }, "the project instructions could not be read");
  return {
    createProjectReader: () => createProjectReader({ sandbox, masker, contextTokens, signal, onError }),
  };
}

async function readNoteIndex(notes: NoteStore, log: Logger): Promise<string | undefined> {
  try {
    return formatNoteIndex(await notes.list());
  } catch (error) {
    // A turn without its notes is better than none.
    log.error({ err: error }, "the notes could not be read");
    return undefined;
  }
}

async function settleWorkspace({ sandbox, log }: TurnRunnerOptions, thread: ThreadId): Promise<void> {
  try {
    await sandbox.backend.settle(thread);
  } catch (error) {
    log.error({ err: error, thread }, "the workspace could not be saved for other workers");
  }
}

/** Tells the operator, once, of tools that the model's service has no room for, and of parts that are too large. */
function warnOfOffer(
  offer: Parameters<typeof describeLargeFixed>[0],
  {
    model: { id, limits },
    context,
    shared: { warned },
    log,
  }: { model: LanguageModel; context: ContextWindow; shared: Shared; log: Logger },
): void {
  const { leftOut } = limitTools(offer.tools, limits.tools);
  const sentences = [
    limits.tools !== undefined && leftOut.length > 0 && describeLeftOut(leftOut, limits.tools),
    describeLargeFixed(offer, context.measureUsable(), context),
  ];
  for (const text of sentences) {
    if (!text || warned.has(text)) continue;
    warned.add(text);
    log.warn({ model: id, tools: offer.tools.length }, text);
  }
}

/** The process's breaker as one thread sees it. */
function narrowToThread(breaker: CircuitBreaker, thread: ThreadId): CircuitBreaker {
  return { enter: (tool) => breaker.enter(`${thread} ${tool}`) };
}
