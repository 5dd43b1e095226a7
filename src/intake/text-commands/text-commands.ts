import type { Redis } from "ioredis";
import type { Author, InboundMessage, InboundStop, IntakeResult } from "../../chat/inbound.ts";
import type { OfferedPrompt } from "../../chat/prompt-choice.ts";
import type { ChatSurface } from "../../chat/surface.ts";
import { type ThreadId, threadId, type ThreadRef } from "../../chat/threads.ts";
import { keys } from "../../queue/redis/keys.ts";
import { listSchedules, type ScheduleAuditEvent } from "../../queue/schedules/schedules.ts";
import { setVerbosity, type Verbosity } from "../../queue/session/choices/verbosity.ts";
import { readStop } from "../../queue/turns/stops.ts";
import { administer, type AdministerOptions, type SettingAuditEvent } from "../administration/administer.ts";
import { type AdminCommand, readAdminCommand } from "../administration/commands.ts";
import type { AccountAuditEvent } from "../questions/account-audit.ts";
import { listOpenQuestions } from "../questions/open-questions-list.ts";
import { type ChoiceAnswer, chooseModel } from "../choose-model.ts";
import { chooseSkill, type SkillChoiceOptions } from "../choose-skill.ts";
import type { Replies } from "../replies.ts";
import type { Undoing } from "../undoing.ts";
import type { WaitingQueue } from "../waiting-queue/waiting-queue.ts";
import { answerApprovalsCommand, type ApprovalsCommand, readApprovalsCommand } from "./approvals.ts";
import { type Answer, type CommandReader, runOnce, type Saying } from "./command-reader.ts";
import type { OwnAccounts } from "./disconnect.ts";
import { helpReply, isHelpCommand } from "./help.ts";
import { type ModelOffer, readModelCommand } from "./model.ts";
import { createMistypedReader } from "./mistyped.ts";
import { createPersonalReader } from "./personal.ts";
import { isBarePlan, planHint } from "./plan.ts";
import { describePrompts, isBarePrompt } from "./prompt.ts";
import { type QueueCommand, readQueueCommand } from "./queue.ts";
import { answerScheduleCommand, readScheduleCommand, type ScheduleCommand } from "./schedules.ts";
import { isStatusCommand } from "./status.ts";
import { readSkillCommand } from "./skill.ts";
import { isStopCommand } from "./stop.ts";
import { readUndoCommand, type UndoCommand } from "./undo.ts";
import { readVerbosityCommand, verbosityReply } from "./verbosity.ts";

export interface TextCommandOptions extends Omit<AdministerOptions, "audit">, SkillChoiceOptions {
  redis: Redis;
  stop(event: InboundStop): Promise<IntakeResult>;
  /** The answer to `/status`. */
  status(thread: ThreadId): Promise<string>;
  /** The models that answer, or may be chosen, in that thread. */
  models(thread: ThreadRef): ModelOffer;
  /** The prompts of MCP servers that the person may begin a task with in that thread. */
  prompts(thread: ThreadRef, author: Author): Promise<readonly OfferedPrompt[]>;
  /** Absent where no accounts of persons can be connected. */
  ownAccounts?: OwnAccounts | undefined;
  audit(event: ScheduleAuditEvent | SettingAuditEvent | ApprovalsAuditEvent | AccountAuditEvent): void;
  now(): number;
  surface(platform: string): ChatSurface;
  onProblem(problem: string, error: unknown): void;
}

/** Somebody took back what was approved for the whole thread. */
export interface ApprovalsAuditEvent {
  action: "approvals-cleared";
  thread: ThreadId;
  /** As people read them. */
  rules: string[];
  by: Author;
}

/** Those that do what some commands say. */
interface CommandRooms {
  waitingQueue: Pick<WaitingQueue, "view" | "change">;
  undoing: Pick<Undoing, "command">;
}

/** Creates what runs a message that is a text command (`stop`, `/status`, `!quiet`), without a turn; undefined for others. */
export function createTextCommands(
  options: TextCommandOptions,
  { reply, refuse, mark }: Pick<Replies, "reply" | "refuse" | "mark">,
  rooms: CommandRooms,
): (event: InboundMessage) => Promise<IntakeResult | undefined> {
  const { redis } = options;

  /** Says it in the thread, or leaves it to the adapter where that tells the person alone. */
  const answer: Answer = async (event, markdown, actions) => {
    const thread = threadId(event.thread);
    if (event.tellsRefusal) return { kind: "acted", thread, reply: markdown };
    const isFirst = await reply(event, markdown, actions);
    return { kind: "acted", thread, ...(!isFirst && { unchanged: true }) };
  };
  const answerAndMark: Answer = async (event, markdown, actions) => {
    const result = await answer(event, markdown, actions);
    if (!event.tellsRefusal) void mark(event.ref, "answered");
    return result;
  };

  const runStop = async (event: InboundMessage): Promise<IntakeResult> => {
    const { author, at, tellsRefusal } = event;
    const target = { thread: event.thread };
    const stop = { kind: "stop" as const, target, author, at, ...(tellsRefusal && { tellsRefusal }) };
    const result = await options.stop(stop);
    if (tellsRefusal) return result;
    // The person was told alone.
    if (result.kind === "refused" || result.kind === "stopping" || event.addressed === "follow-up")
      return result;
    // Slack delivers a mention twice, and each of several gateways receives it: everything may have stopped already.
    const order = await readStop(redis, threadId(event.thread));
    if (order && order.at >= at) return { kind: "duplicate" };
    await reply(event, "Nothing is running in this thread.");
    return result;
  };

  const runVerbosity = async (event: InboundMessage, verbosity: Verbosity): Promise<IntakeResult> => {
    const thread = threadId(event.thread);
    if (await setVerbosity(redis, thread, verbosity)) {
      return answer(event, verbosityReply[verbosity]);
    }
    if (event.addressed === "follow-up") return noSession;
    return refuse(
      event,
      "Nobody has asked me anything in this thread yet. Give me a task first, then say how much to show.",
    );
  };

  const saying = { answerAndMark, refuse, mark };
  const readers: CommandReader[] = [
    createAdministrationReader(options, saying),
    createTellingReader(options, saying),
    createApprovalsReader(options, saying),
    createUndoingReader(saying, rooms),
    createChoiceReader(options, saying),
    createQueueReader(saying, rooms),
    createSchedulesReader(options, saying),
    createPersonalReader(options, saying),
    // Last: what is a command is not nearly one.
    createMistypedReader(saying),
  ];

  return async (event) => {
    if (isStopCommand(event.text)) return runStop(event);
    const verbosity = readVerbosityCommand(event.text);
    if (verbosity) return runVerbosity(event, verbosity);
    for (const read of readers) {
      const run = read(event);
      if (run) return (await isNotOurs(redis, event)) ? noSession : run();
    }
    return undefined;
  };
}

/** What says something about the thread, or about how it works. */
function createTellingReader(
  { status, prompts }: Pick<TextCommandOptions, "status" | "prompts">,
  { answerAndMark, refuse }: Saying,
): CommandReader {
  return (event) => {
    const { text, thread, author } = event;
    if (isStatusCommand(text)) return async () => answerAndMark(event, await status(threadId(thread)));
    if (isHelpCommand(event)) return () => answerAndMark(event, helpReply);
    if (isBarePlan(text)) return () => refuse(event, planHint);
    if (isBarePrompt(text))
      return async () => answerAndMark(event, describePrompts(await prompts(thread, author)));
    return undefined;
  };
}

/** `!queue`. */
function createQueueReader({ answerAndMark }: Saying, { waitingQueue }: CommandRooms): CommandReader {
  const run = async (event: InboundMessage, command: QueueCommand): Promise<IntakeResult> => {
    if (command.do === "change") return waitingQueue.change(event, command);
    const { markdown, menus, actions } = await waitingQueue.view(event);
    if (event.tellsRefusal) return { kind: "acted", thread: threadId(event.thread), reply: markdown, menus };
    return answerAndMark(event, markdown, actions);
  };
  return (event) => {
    const command = readQueueCommand(event.text);
    return command && (() => run(event, command));
  };
}

/** `schedules` and `unschedule`. */
function createSchedulesReader(
  { redis, audit, now }: Pick<TextCommandOptions, "redis" | "audit" | "now">,
  { answerAndMark }: Saying,
): CommandReader {
  const run = async (event: InboundMessage, command: ScheduleCommand): Promise<IntakeResult> => {
    const thread = threadId(event.thread);
    const planned = await listSchedules(redis, thread, now());
    const { markdown, cancelled } = await answerScheduleCommand(redis, thread, command, planned);
    if (cancelled !== undefined)
      audit({ action: "schedule-cancelled", thread, schedule: cancelled, by: event.author });
    return answerAndMark(event, markdown);
  };
  return (event) => {
    const command = readScheduleCommand(event.text);
    return command && (() => run(event, command));
  };
}

/** `!approvals`, which lists what waits for a decision as well. */
function createApprovalsReader(
  options: Pick<TextCommandOptions, "redis" | "audit" | "now" | "surface" | "onProblem">,
  { answerAndMark }: Saying,
): CommandReader {
  const { redis, audit, now } = options;
  const run = async (event: InboundMessage, command: ApprovalsCommand): Promise<IntakeResult> => {
    const thread = threadId(event.thread);
    const { markdown: approved, takenBack } = await answerApprovalsCommand(redis, thread, command, now());
    const open = command === "list" ? await listOpenQuestions(options, event.thread) : undefined;
    const markdown = open === undefined ? approved : `${open}\n\n${approved}`;
    const rules = takenBack.map(({ rule }) => rule.text);
    if (rules.length > 0) audit({ action: "approvals-cleared", thread, rules, by: event.author });
    return answerAndMark(event, markdown);
  };
  return (event) => {
    const command = readApprovalsCommand(event.text);
    return command && (() => runOnce(redis, event, () => run(event, command)));
  };
}

/** `!model` and `!skill`: they choose one for the thread, or say which is used. */
function createChoiceReader(options: TextCommandOptions, { answerAndMark, refuse }: Saying): CommandReader {
  const run = async (event: InboundMessage, answered: ChoiceAnswer): Promise<IntakeResult> => {
    const { markdown } = answered;
    if (answered.kind === "refused") return refuse(event, markdown);
    if (event.tellsRefusal)
      return { kind: "acted", thread: threadId(event.thread), reply: markdown, menus: answered.menus };
    return answerAndMark(event, markdown);
  };
  return (event) => {
    const { text, thread } = event;
    const [model, skill] = [readModelCommand(text), readSkillCommand(text)];
    if (model) return async () => run(event, await chooseModel(options, thread, model));
    return skill && (async () => run(event, await chooseSkill(options, thread, skill.skill)));
  };
}

/** `!undo` and `!redo`. */
function createUndoingReader({ refuse, mark }: Saying, { undoing }: CommandRooms): CommandReader {
  const run = async (event: InboundMessage, command: UndoCommand): Promise<IntakeResult> => {
    const result = await undoing.command(event, command);
    if (result.kind === "refused") return refuse(event, result.reply);
    if (result.kind === "acted" && !event.tellsRefusal) void mark(event.ref, "answered");
    return result;
  };
  return (event) => {
    const command = readUndoCommand(event.text);
    return command && (() => run(event, command));
  };
}

/** The commands of administrators. */
function createAdministrationReader(
  options: TextCommandOptions,
  { answerAndMark, refuse }: Saying,
): CommandReader {
  const run = async (event: InboundMessage, command: AdminCommand): Promise<IntakeResult> => {
    const { markdown, isRefused } = await administer(options, event, command);
    return isRefused ? refuse(event, markdown) : answerAndMark(event, markdown);
  };
  return (event) => {
    const command = readAdminCommand(event.text);
    return command && (() => runOnce(options.redis, event, () => run(event, command)));
  };
}

const noSession = { kind: "ignored", why: "no session in that thread" } as const;

/** People talk among each other in other threads, also in those that the agent only listens to. */
async function isNotOurs(redis: Redis, { addressed, thread }: InboundMessage): Promise<boolean> {
  if (addressed !== "follow-up") return false;
  const [created, listening] = await redis.hmget(keys.head(threadId(thread)), "created", "listening");
  return !created || Boolean(listening);
}
