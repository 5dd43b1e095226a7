import type { ThreadId } from "../../chat/threads.ts";
import type { Config } from "../../config/load.ts";
import { createMessageExtras } from "../../message-extras/message-extras.ts";
import { readNames } from "../../operations/names.ts";
import type { Previews } from "../../previews/previews.ts";
import type { ScheduleClock } from "../../queue/schedules/clock.ts";
import { createThreadSchedules, type ScheduleLimits } from "../../queue/schedules/schedules.ts";
import { createJournalReader } from "../../queue/session/journal/journal.ts";
import { createRedisNotes } from "../../queue/session/notes.ts";
import { createLearntWindowStore } from "../../queue/stores/learnt-windows.ts";
import { createInputStore } from "../../queue/stores/mcp-inputs.ts";
import type { TurnRunner } from "../../queue/turns/contracts.ts";
import { channelSettings } from "../channel-settings.ts";
import { createLivePolicy, createPermit } from "../configuration/permit.ts";
import type { AppContext } from "../context.ts";
import { findModelAddress, type Models } from "../models/models.ts";
import type { HeldPool } from "../mcp/server-pools.ts";
import { openWeb } from "../web.ts";
import { createAgentRunner } from "./agent-runner.ts";
import { shareLearntWindows } from "./learnt-windows.ts";
import { createPlaceNames } from "./place-names.ts";
import type { TurnRunnerOptions } from "./turn-runner-options.ts";

/** What all turns of a worker share, whatever the settings are. */
export interface ConfiguredRunnerParts {
  models(): Models;
  pool(): HeldPool;
  clock: ScheduleClock;
  previews: Previews | undefined;
  onProblem(problem: string, error: unknown): void;
}

/** Runs the agent as the settings want it at the time when a turn begins. */
export function openConfiguredRunner(context: AppContext, parts: ConfiguredRunnerParts): TurnRunner {
  const { configuration, redis } = context;
  const policy = createLivePolicy(configuration);
  const permit = createPermit(context);
  const describePlace = createPlaceNames({
    readNames: (ids) => readNames(redis, ids),
    now: Date.now,
    onProblem: parts.onProblem,
  });
  let known: { config: Config; options: TurnRunnerOptions } | undefined;
  return createAgentRunner(() => {
    const config = configuration.current();
    if (known?.config === config) return known.options;
    const settled = settleOptions(context, config, parts);
    const options = { ...settled, policy, permit, situation: situationOf(config, describePlace) };
    known = { config, options };
    return options;
  });
}

function situationOf({ settings }: Config, describePlace: (thread: ThreadId) => Promise<string>) {
  return async (thread: ThreadId) => ({
    timeZone: settings.budgets.timeZone,
    place: await describePlace(thread),
  });
}

/** What a turn that begins under this configuration keeps until its end. */
function settleOptions(
  context: AppContext,
  config: Config,
  { models: currentModels, pool: currentPool, clock, previews, onProblem }: ConfiguredRunnerParts,
): Omit<TurnRunnerOptions, "policy"> {
  const { log, masker, redis, budgets, surface, skills, sandbox } = context;
  const { observe, audit: note } = context.telemetry;
  const { agent, attachments, room, schedules, sessions } = config.settings;
  const models = currentModels();
  const pool = currentPool();
  const scheduleLimits: ScheduleLimits = {
    perThread: schedules.perThread,
    shortestMs: schedules.shortestMinutes * 60_000,
    longestMs: sessions.expireDays * 86_400_000,
  };
  return {
    choose: (thread, chosen) => observe.model(models.choose(thread, chosen)),
    summariser: observe.model(models.summariser),
    ...(models.helper && { helper: observe.model(models.helper) }),
    limits: {
      steps: agent.maxSteps,
      wallMs: agent.maxMinutes * 60_000,
      ...(agent.maxTokens && { tokens: agent.maxTokens }),
      ...(agent.maxCost && { cost: agent.maxCost }),
    },
    compaction: config.settings.compaction,
    budgets,
    instructions: agent.instructions,
    channel: (thread) => channelSettings(config.settings, thread),
    messageExtras: createMessageExtras({
      files: {
        files: attachments.files,
        fileBytes: attachments.fileMb * 1_048_576,
        messageBytes: attachments.messageMb * 1_048_576,
        downloadMs: attachments.seconds * 1_000,
      },
      room,
      surface,
      mayAsk: context.access.mayAsk,
      onProblem,
    }),
    sandbox,
    notes: (thread, speakers) => createRedisNotes({ redis, thread, speakers, now: Date.now, onProblem }),
    schedules: (thread, asked) =>
      createThreadSchedules({
        redis,
        clock,
        thread,
        limits: scheduleLimits,
        asked,
        audit: note,
        now: Date.now,
      }),
    journal: (thread) => createJournalReader(redis, thread),
    windows: shareLearntWindows(
      createLearntWindowStore(redis, (model) => findModelAddress(config, model)),
      { now: Date.now, onProblem },
    ),
    repositories: context.repositories,
    web: openWeb(config, { masker, redis }),
    previews,
    surface,
    skills,
    mcp: pool,
    inputs: createInputStore(redis),
    hold: () => pool.hold(),
    masker,
    questionMs: config.settings.tools.questionMinutes * 60_000,
    log,
  };
}
