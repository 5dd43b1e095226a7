import type { Redis } from "ioredis";
import type { Author, InboundMessage, InboundStop, IntakeResult } from "../../chat/inbound.ts";
import type { ActionButton } from "../../chat/outbound.ts";
import type { OfferedPrompt } from "../../chat/prompt-choice.ts";
import type { ChatSurface } from "../../chat/surface.ts";
import { type ThreadId, threadId, type ThreadRef } from "../../chat/threads.ts";
import { keys } from "../../queue/redis/keys.ts";
import { listSchedules, type ScheduleAuditEvent } from "../../queue/schedules/schedules.ts";
import { setVerbosity, type Verbosity } from "../../queue/session/verbosity.ts";
import { readStop } from "../../queue/turns/stops.ts";
import { administer, type AdministerOptions, type SettingAuditEvent } from "../administration/administer.ts";
import { type AdminCommand, readAdminCommand } from "../administration/commands.ts";
import type { AccountAuditEvent } from "../account-audit.ts";
import { listOpenQuestions } from "../open-questions-list.ts";
import { type ChoiceAnswer, chooseModel } from "../choose-model.ts";
import { chooseSkill, type SkillChoiceOptions } from "../choose-skill.ts";
import type { Replies } from "../replies.ts";
import type { Undoing } from "../undoing.ts";
import type { WaitingQueue } from "../waiting-queue/waiting-queue.ts";
import { answerApprovalsCommand, type ApprovalsCommand, readApprovalsCommand } from "./approvals.ts";
import {
  answerDisconnectCommand,
  type DisconnectCommand,
  type OwnAccounts,
  readDisconnectCommand,
} from "./disconnect.ts";
import { helpReply, isHelpCommand } from "./help.ts";
import { type ModelOffer, readModelCommand } from "./model.ts";
import { answerNotifyCommand, type NotifyCommand, readNotifyCommand } from "./notify.ts";
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

type Answer = (event: InboundMessage, markdown: string, actions?: ActionButton[]) => Promise<IntakeResult>;

/** Creates what runs a message that is a text command (`stop`, `/status`, `!quiet`), without a turn; undefined for others. */
export function createTextCommands(
  options: TextCommandOptions,
  { reply, refuse, mark }: Pick<Replies, "reply" | "refuse" | "mark">,
  { waitingQueue, undoing }: CommandRooms,
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

  /** Says something about the thread, or about how it works. */
  const runTelling = async (event: InboundMessage, tell: (thread: ThreadId) => Promise<string> | string) => {
    const thread = threadId(event.thread);
    if (await isNotOurs(redis, event, thread)) return noSession;
    return answerAndMark(event, await tell(thread));
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

  const runBarePlan = async (event: InboundMessage): Promise<IntakeResult> => {
    if (await isNotOurs(redis, event, threadId(event.thread))) return noSession;
    return refuse(event, planHint);
  };

  const runQueue = async (event: InboundMessage, command: QueueCommand): Promise<IntakeResult> => {
    const thread = threadId(event.thread);
    if (await isNotOurs(redis, event, thread)) return noSession;
    if (command.do === "change") return waitingQueue.change(event, command);
    const { markdown, menus, actions } = await waitingQueue.view(event);
    if (event.tellsRefusal) return { kind: "acted", thread, reply: markdown, menus };
    return answerAndMark(event, markdown, actions);
  };

  const runPersonal = createPersonalCommands(options, answerAndMark);
  const runApprovals = createApprovalsCommand(options, answerAndMark);
  const runChoice = createChoiceCommand(redis, refuse, answerAndMark);
  const runUndo = createUndoCommand(redis, { refuse, mark, undoing });
  const runAdministration = createAdministration(options, { refuse, answerAndMark });

  return async (event) => {
    const administration = readAdminCommand(event.text);
    if (administration) return runAdministration(event, administration);
    if (isStopCommand(event.text)) return runStop(event);
    const verbosity = readVerbosityCommand(event.text);
    if (verbosity) return runVerbosity(event, verbosity);
    if (isStatusCommand(event.text)) return runTelling(event, options.status);
    if (isHelpCommand(event)) return runTelling(event, () => helpReply);
    if (isBarePlan(event.text)) return runBarePlan(event);
    const approvals = readApprovalsCommand(event.text);
    if (approvals) return runApprovals(event, approvals);
    const undo = readUndoCommand(event.text);
    if (undo) return runUndo(event, undo);
    const choose = readChoice(options, event);
    if (choose) return runChoice(event, choose);
    const queueCommand = readQueueCommand(event.text);
    if (queueCommand) return runQueue(event, queueCommand);
    return runPersonal(event);
  };
}

/** Creates what runs commands about what a person plans, chooses and has connected. */
function createPersonalCommands(
  options: TextCommandOptions,
  answerAndMark: Answer,
): (event: InboundMessage) => Promise<IntakeResult | undefined> {
  const { redis } = options;
  const runSchedules = createSchedulesCommand(options, answerAndMark);
  const runDisconnect = createDisconnectCommand(options, answerAndMark);
  const runPrompts = async (event: InboundMessage): Promise<IntakeResult> => {
    if (await isNotOurs(redis, event, threadId(event.thread))) return noSession;
    return answerAndMark(event, describePrompts(await options.prompts(event.thread, event.author)));
  };
  const runNotify = async (event: InboundMessage, command: NotifyCommand): Promise<IntakeResult> => {
    if (await isNotOurs(redis, event, threadId(event.thread))) return noSession;
    // Told again, it would undo what was chosen since.
    if (await redis.exists(keys.replied(event.ref))) return { kind: "duplicate" };
    return answerAndMark(event, await answerNotifyCommand(redis, event, command));
  };

  return async (event) => {
    const schedules = readScheduleCommand(event.text);
    if (schedules) return runSchedules(event, schedules);
    if (isBarePrompt(event.text)) return runPrompts(event);
    const notify = readNotifyCommand(event.text);
    if (notify) return runNotify(event, notify);
    const disconnect = readDisconnectCommand(event.text);
    return disconnect && runDisconnect(event, disconnect);
  };
}

/** Creates what runs `schedules` and `unschedule`. */
function createSchedulesCommand(
  { redis, audit, now }: Pick<TextCommandOptions, "redis" | "audit" | "now">,
  answerAndMark: Answer,
): (event: InboundMessage, command: ScheduleCommand) => Promise<IntakeResult> {
  return async (event, command) => {
    const thread = threadId(event.thread);
    if (await isNotOurs(redis, event, thread)) return noSession;
    const planned = await listSchedules(redis, thread, now());
    const { markdown, cancelled } = await answerScheduleCommand(redis, thread, command, planned);
    if (cancelled !== undefined)
      audit({ action: "schedule-cancelled", thread, schedule: cancelled, by: event.author });
    return answerAndMark(event, markdown);
  };
}

/** Creates what runs `!approvals`, which lists what waits for a decision as well. */
function createApprovalsCommand(
  options: Pick<TextCommandOptions, "redis" | "audit" | "now" | "surface" | "onProblem">,
  answerAndMark: Answer,
): (event: InboundMessage, command: ApprovalsCommand) => Promise<IntakeResult> {
  const { redis, audit, now } = options;
  return async (event, command) => {
    const thread = threadId(event.thread);
    if (await isNotOurs(redis, event, thread)) return noSession;
    // Told again, it would take back what was approved since.
    if (await redis.exists(keys.replied(event.ref))) return { kind: "duplicate" };
    const { markdown: approved, takenBack } = await answerApprovalsCommand(redis, thread, command, now());
    const open = command === "list" ? await listOpenQuestions(options, event.thread) : undefined;
    const markdown = open === undefined ? approved : `${open}\n\n${approved}`;
    const rules = takenBack.map(({ rule }) => rule.text);
    if (rules.length > 0) audit({ action: "approvals-cleared", thread, rules, by: event.author });
    return answerAndMark(event, markdown);
  };
}

/** What a message does that chooses a model or a skill for its thread, or asks which is used; undefined for others. */
function readChoice(
  options: TextCommandOptions,
  { text, thread }: InboundMessage,
): (() => Promise<ChoiceAnswer>) | undefined {
  const [model, skill] = [readModelCommand(text), readSkillCommand(text)];
  if (model) return () => chooseModel(options, thread, model);
  return skill && (() => chooseSkill(options, thread, skill.skill));
}

/** Creates what runs `!model` and `!skill`. */
function createChoiceCommand(
  redis: Redis,
  refuse: Replies["refuse"],
  answerAndMark: Answer,
): (event: InboundMessage, choose: () => Promise<ChoiceAnswer>) => Promise<IntakeResult> {
  return async (event, choose) => {
    const thread = threadId(event.thread);
    if (await isNotOurs(redis, event, thread)) return noSession;
    const answered = await choose();
    const { markdown } = answered;
    if (answered.kind === "refused") return refuse(event, markdown);
    if (event.tellsRefusal) return { kind: "acted", thread, reply: markdown, menus: answered.menus };
    return answerAndMark(event, markdown);
  };
}

/** Creates what runs `!disconnect`. */
function createDisconnectCommand(
  { redis, audit, ownAccounts }: Pick<TextCommandOptions, "redis" | "audit" | "ownAccounts">,
  answerAndMark: Answer,
): (event: InboundMessage, command: DisconnectCommand) => Promise<IntakeResult> {
  return async (event, command) => {
    const thread = threadId(event.thread);
    if (await isNotOurs(redis, event, thread)) return noSession;
    // Told again, it would end what was connected since.
    if (await redis.exists(keys.replied(event.ref))) return { kind: "duplicate" };
    if (!ownAccounts) return answerAndMark(event, "Nobody can connect accounts here.");
    const { platform, workspace } = event.thread;
    const of = `${platform}:${workspace}:${event.author.id}`;
    const { markdown, disconnected } = await answerDisconnectCommand(ownAccounts, of, command);
    if (disconnected !== undefined)
      audit({ action: "account-disconnected", server: disconnected, of, thread, by: event.author });
    return answerAndMark(event, markdown);
  };
}

/** Creates what runs `!undo` and `!redo`. */
function createUndoCommand(
  redis: Redis,
  { refuse, mark, undoing }: Pick<Replies, "refuse" | "mark"> & { undoing: Pick<Undoing, "command"> },
): (event: InboundMessage, command: UndoCommand) => Promise<IntakeResult> {
  return async (event, command) => {
    if (await isNotOurs(redis, event, threadId(event.thread))) return noSession;
    const result = await undoing.command(event, command);
    if (result.kind === "refused") return refuse(event, result.reply);
    if (result.kind === "acted" && !event.tellsRefusal) void mark(event.ref, "answered");
    return result;
  };
}

/** Creates what runs the commands of administrators. */
function createAdministration(
  options: TextCommandOptions,
  {
    refuse,
    answerAndMark,
  }: Pick<Replies, "refuse"> & {
    answerAndMark(event: InboundMessage, markdown: string): Promise<IntakeResult>;
  },
): (event: InboundMessage, command: AdminCommand) => Promise<IntakeResult> {
  const { redis } = options;
  return async (event, command) => {
    if (await isNotOurs(redis, event, threadId(event.thread))) return noSession;
    // Told again, it would undo what was changed since.
    if (await redis.exists(keys.replied(event.ref))) return { kind: "duplicate" };
    const { markdown, isRefused } = await administer(options, event, command);
    return isRefused ? refuse(event, markdown) : answerAndMark(event, markdown);
  };
}

const noSession = { kind: "ignored", why: "no session in that thread" } as const;

/** People talk among each other in other threads, also in those that the agent only listens to. */
async function isNotOurs(redis: Redis, { addressed }: InboundMessage, thread: ThreadId): Promise<boolean> {
  if (addressed !== "follow-up") return false;
  const [created, listening] = await redis.hmget(keys.head(thread), "created", "listening");
  return !created || Boolean(listening);
}
