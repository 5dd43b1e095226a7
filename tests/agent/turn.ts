/** What the tests of whole turns share: a person, tools, and a worker's way to run a turn. */
import { z } from "zod";
import { type ContextWindow, createContextWindow } from "../../src/agent/context/compaction.ts";
import { createTokenCounter } from "../../src/agent/context/tokens.ts";
import type { AgentEvent, TurnAbort, TurnOutcome } from "../../src/agent/events.ts";
import { replay } from "../../src/agent/journal/replay.ts";
import { toRecord } from "../../src/agent/journal/history.ts";
import type { JournalRecord } from "../../src/agent/journal/journal.ts";
import { defaultTurnLimits, type TurnLimits } from "../../src/agent/loop/limits.ts";
import { runTurn } from "../../src/agent/loop/run-turn.ts";
import type { Turn } from "../../src/agent/loop/turn.ts";
import type { UserMessage } from "../../src/agent/messages.ts";
import type { LanguageModel } from "../../src/agent/model.ts";
import type { Dispatcher } from "../../src/agent/tools/dispatch/dispatch.ts";
import { defineTool, type Tool, type ToolServices } from "../../src/agent/tools/tool.ts";
import { type Reply, scriptedModel } from "../fakes/scripted-model.ts";
import { dispatcherOf, memoryNotes } from "./tools/services.ts";

export const counter = createTokenCounter();

const ada = { id: "U1", name: "Ada" };

export function say(text: string, at = 1_000): UserMessage {
  return { role: "user", id: `m${at}`, author: ada, text, at };
}

export function tool(
  name: string,
  effect: Tool["effect"],
  work: (signal: AbortSignal) => Promise<string>,
): Tool {
  return defineTool({
    name,
    description: name,
    input: z.looseObject({}),
    effect,
    run: async (_input, { signal }) => ({ status: "ok", text: await work(signal) }),
  });
}

/** A journal in which somebody asks for something. */
export function asking(text: string, at = 1_000): JournalRecord[] {
  return [
    { type: "turn-start", turn: "t1", at },
    { type: "user", message: say(text, at) },
  ];
}

export interface RunOptions {
  /** What the model says, or the model itself. */
  replies?: Reply[] | Parameters<typeof scriptedModel>[0];
  model?: LanguageModel;
  /** Default: one for this turn alone. */
  context?: ContextWindow;
  system?: string;
  tools?: Tool[];
  dispatcher?: Dispatcher;
  services?: Partial<ToolServices>;
  limits?: Partial<TurnLimits>;
  journal?: JournalRecord[];
  followUps?: () => Promise<UserMessage[]>;
  readNoteIndex?: NonNullable<Turn["readNoteIndex"]>;
  situation?: NonNullable<Turn["situation"]>;
  watch?: string;
  readProjectInstructions?: NonNullable<Turn["readProjectInstructions"]>;
  meter?: NonNullable<Turn["meter"]>;
  renew?: NonNullable<Turn["renew"]>;
  now?: () => number;
  /** To abort the turn from within its model or tools. */
  controller?: AbortController;
  onEvent?: (event: AgentEvent, abort: (reason: TurnAbort) => void) => void;
}

/** Runs a turn the way a worker does: stores what must be stored before it goes on. */
export async function run(options: RunOptions) {
  const journal = options.journal ?? asking("do it");
  const scripted = scriptedModel(options.replies ?? []);
  const model = options.model ?? scripted.model;
  const controller = options.controller ?? new AbortController();
  const events: AgentEvent[] = [];
  const turn = runTurn({
    id: "t1",
    history: replay(journal),
    model,
    system: options.system ?? "system",
    context: options.context ?? createContextWindow({ model, counter }),
    limits: { ...defaultTurnLimits, ...options.limits },
    tools:
      options.dispatcher ??
      dispatcherOf({
        tools: options.tools ?? [],
        services: { notes: memoryNotes(), now: Date.now, ...options.services },
      }),
    followUps: async () => {
      const messages = (await options.followUps?.()) ?? [];
      journal.push(...messages.map((message) => ({ type: "user", message }) as const));
      return messages;
    },
    ...(options.readNoteIndex && { readNoteIndex: options.readNoteIndex }),
    ...(options.situation && { situation: options.situation }),
    ...(options.watch !== undefined && { watch: options.watch }),
    ...(options.readProjectInstructions && { readProjectInstructions: options.readProjectInstructions }),
    ...(options.meter && { meter: options.meter }),
    ...(options.renew && { renew: options.renew }),
    ...(options.services?.history && { journal: options.services.history }),
    signal: controller.signal,
    now: options.now ?? (() => 1_000),
  });
  let outcome: TurnOutcome | undefined;
  while (!outcome) {
    const next = await turn.next();
    if (next.done) outcome = next.value;
    else {
      events.push(next.value);
      const record = toRecord(next.value, 2_000);
      if (record) journal.push(record);
      options.onEvent?.(next.value, (reason) => controller.abort(reason));
    }
  }
  return { outcome, events, requests: scripted.requests, journal };
}
