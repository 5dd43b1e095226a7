import { setImmediate as yieldToOthers } from "node:timers/promises";
import { type ContextWindow, createContextWindow } from "../../agent/context/compaction.ts";
import { describeLargeFixed } from "../../agent/context/fixed-part.ts";
import type { AgentEvent, TurnOutcome } from "../../agent/events.ts";
import { createMeteredModel } from "../../agent/llm/metered-model.ts";
import { describeLeftOut, limitTools } from "../../agent/llm/tool-limit.ts";
import { buildSystemPrompt, type PromptParts } from "../../agent/loop/prompt/prompt.ts";
import { runTurn } from "../../agent/loop/run-turn.ts";
import type { Situation } from "../../agent/loop/prompt/situation.ts";
import type { TurnOffer } from "../../agent/loop/turn.ts";
import { formatServerInstructions } from "../../agent/mcp/instructions.ts";
import type { McpOffer } from "../../agent/mcp/offer.ts";
import { isFromPerson, type Message, type UserMessage } from "../../agent/messages.ts";
import type { LanguageModel } from "../../agent/model.ts";
import { limitToPlanning, type Planning } from "../../agent/planning.ts";
import { formatSkillCatalogue } from "../../agent/skills/catalogue.ts";
import type { CircuitBreaker } from "../../agent/tools/dispatch/circuit-breaker.ts";
import type { Skill } from "../../agent/skills/library.ts";
import { provideSkillFolder } from "../../agent/skills/skill-folder.ts";
import { createProposePlan } from "../../agent/tools/propose-plan.ts";
import type { ToolServices } from "../../agent/tools/tool.ts";
import { webFetchName } from "../../agent/contracts/web.ts";
import type { ThreadId } from "../../chat/threads.ts";
import type { Reading } from "../../message-extras/message-extras.ts";
import type { Budgets } from "../../queue/budgets/budgets.ts";
import type { TurnRunner } from "../../queue/turns/contracts.ts";
import { type Probe, usefulPrograms } from "../../sandbox/sandbox.ts";
import type { Logger } from "../../telemetry/log.ts";
import { hasSkill, isListed } from "../channel-settings.ts";
import { addAnswering, findAsker } from "./asker.ts";
import { catalogueTokens } from "./offer-size.ts";
import { openPlanning } from "./open-planning.ts";
import { openWorkspace, settleWorkspace } from "./open-workspace.ts";
import { createTurnTools, type TurnToolsOptions } from "./turn-tools.ts";
import { noteAttached } from "./attached-files.ts";
import type { SharedByTurns, TurnFiles, TurnRunnerOptions } from "./turn-runner-options.ts";
import { mayUsePrompt } from "../mcp/prompts.ts";
import { createServices, keepFromWriting, provideProjectReader, readNoteIndex } from "./turn-services.ts";

type RunInput = Parameters<TurnRunner["run"]>[0];

export async function* runAgent(
  options: TurnRunnerOptions,
  shared: SharedByTurns,
  files: TurnFiles,
  input: RunInput,
): AsyncGenerator<AgentEvent, TurnOutcome> {
  const { thread, turn: id, claim, history, chosen, store, emit, signal } = input;
  const log = options.log.child({ thread, turn: id });
  const channel = options.channel(thread);
  const model = options.choose(thread, chosen.model ?? history.chosenModel, chosen.effort);
  const context = contextOf(model, options, shared);
  const helper = options.helper ?? model;
  const asked = listAsked(input);
  const asker = findAsker(thread, asked);
  const probe = await options.sandbox.refresh();
  // What only asks Redis goes first: with its answers the mark that says that people were heard may leave, before all that
  // takes the event loop for milliseconds.
  const [planning, situation] = await Promise.all([
    planTurn(options, files, input, asked),
    options.situation?.(thread),
    shared.windows.refresh(),
  ]);
  await yieldToOthers();
  const [{ sandbox, noSandbox }, library, offer] = await Promise.all([
    openWorkspace(options.sandbox, { thread, claim, probe, log }),
    options.skills.current(),
    options.mcp.offer(signal, asker),
  ]);
  sandbox?.noteFiles(id);
  const skills = library.skills.filter(({ name }) => hasSkill(channel, name));
  const meter = createMeter(options.budgets.turnBudget(thread, history.turn), shared);
  const services = createServices(options, thread, asked, {
    sandbox: sandbox && keepFromWriting(provideSkillFolder(sandbox, skills), planning),
    model: meter(model),
  });

  const reading: Omit<Reading, "fromStart"> = {
    ...(sandbox && { sandbox: noteAttached(sandbox, files.attached) }),
    images: model.limits.images,
    skills: skills.map(({ name }) => name),
    readPrompt: createPromptReading(options, thread, signal),
    store,
    notice: (text) => void emit({ type: "notice", text }),
    signal,
  };
  const openExtras = <M extends Message>(messages: readonly (M | UserMessage)[], fromStart: boolean) =>
    options.messageExtras.open(thread, messages, { ...reading, fromStart });
  const messages = await openExtras(history.messages, true);
  const prompt = {
    ...describeSurroundings(options, thread, { probe, noSandbox, model }),
    skills: formatSkillCatalogue(skills, catalogueTokens, shared.counter.count),
  };
  const place = situation && { situation: withSkill(situation, chosen.skill, skills) };
  const told = {
    ...place,
    ...(sandbox && provideProjectReader(options, { sandbox, model, signal, log })),
  };
  const assembleTools = createTurnTools({
    dispatch: shareCalls(options, shared, { input, asked, services, planning, log }),
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
    const dispatcher = assembleTools({ tools: addAnswering(tools, options, asker), system });
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
    ...{ limits: options.limits, questionMs: options.questionMs },
    async followUps() {
      const arrived = await input.followUps();
      asked.push(...arrived.filter(isFromPerson));
      return openExtras(arrived, false);
    },
    ...(services.history && { journal: services.history }),
    readNoteIndex: () => readNoteIndex(services.notes, log),
    ...place,
    ...(channel.watch && { watch: channel.watch.task }),
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

/** Reads prompts with the account of whoever has chosen them. */
function createPromptReading(
  { mcp, masker, channel }: TurnRunnerOptions,
  thread: ThreadId,
  signal: AbortSignal,
): Reading["readPrompt"] {
  return async (choice, message) => {
    const isOffered = mayUsePrompt(channel(thread).tools, choice);
    const asker = findAsker(thread, [message]);
    const result = isOffered ? await mcp.readPrompt(choice, { signal, asker }) : undefined;
    return result && { isRead: result.status === "ok", text: masker.mask(result.text) };
  };
}

/** What the calls of the turn and of its sub-agents share. */
function shareCalls(
  { masker, policy, permit, sandbox }: TurnRunnerOptions,
  { breaker }: SharedByTurns,
  turn: {
    input: Pick<RunInput, "thread" | "areApproved">;
    asked: readonly UserMessage[];
    services: ToolServices;
    planning: Planning;
    log: Logger;
  },
): TurnToolsOptions["dispatch"] {
  const { services, log } = turn;
  const { thread, areApproved } = turn.input;
  return {
    ...{ services, masker, areApproved },
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
  { counter }: SharedByTurns,
): (model: LanguageModel) => LanguageModel {
  return (model) => createMeteredModel({ model, turnBudget, counter });
}

/** What the system prompt says of place and operator, whatever the tools. */
function describeSurroundings(
  { channel, instructions, sandbox, web }: TurnRunnerOptions,
  thread: ThreadId,
  { probe, noSandbox, model }: { probe: Probe; noSandbox: string; model: LanguageModel },
): Omit<PromptParts, "servers" | "skills"> {
  const settings = channel(thread);
  return {
    noSandbox,
    sandboxNote: sandbox.backend.note(thread),
    ...(web && isListed(settings.tools, webFetchName) && { web: web.describe(thread, model) }),
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
  { contexts: all, counter, windows: { learnt } }: SharedByTurns,
): ContextWindow {
  const { summariser, compaction } = options;
  const contexts = all.get(options) ?? new Map<LanguageModel, ContextWindow>();
  all.set(options, contexts);
  const context =
    contexts.get(model) ?? createContextWindow({ model, summariser, counter, policy: compaction, learnt });
  contexts.set(model, context);
  return context;
}

/** The situation with the skill that people have chosen, if the thread still has it. */
function withSkill(
  situation: Situation,
  chosen: string | undefined,
  skills: readonly Pick<Skill, "name">[],
): Situation {
  const skill = skills.find(({ name }) => name === chosen)?.name;
  return { ...situation, ...(skill !== undefined && { skill }) };
}

function listAsked({ history }: RunInput): UserMessage[] {
  return (history.turn?.asked ?? []).filter(isFromPerson);
}

/** Whether the turn plans first. */
function planTurn(
  { journal, channel }: TurnRunnerOptions,
  files: TurnFiles,
  { thread, history }: RunInput,
  asked: readonly UserMessage[],
): Promise<Planning> {
  return openPlanning(history.turn, asked, journal(thread), {
    always: channel(thread).plan === "ask",
    onApproved: (planned) => void (files.planned = planned),
  });
}

/** Tells the operator, once, of tools that the model's service has no room for, and of parts that are too large. */
function warnOfOffer(
  offer: Parameters<typeof describeLargeFixed>[0],
  {
    model: { id, limits },
    context,
    shared: { warned },
    log,
  }: { model: LanguageModel; context: ContextWindow; shared: SharedByTurns; log: Logger },
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
