import { plainName } from "../agent/messages.ts";
import type { InboundEvent, InboundMessage, InboundStop, Intake, IntakeResult } from "../chat/inbound.ts";
import { parseThreadId, threadId } from "../chat/threads.ts";
import type { ScheduleAuditEvent } from "../queue/schedules/schedules.ts";
import { readLastRequesters } from "../queue/session/requesters.ts";
import { storeUnauthorized, storeUnauthorizedEdit } from "../queue/session/mailbox/unauthorized.ts";
import type { SettingAuditEvent } from "./administration/administer.ts";
import type { Access } from "./access.ts";
import type { AccountAuditEvent } from "./questions/account-audit.ts";
import { type ContinueAuditEvent, type ContinueOptions, createContinuing } from "./continue-paused.ts";
import { createPromptArguments } from "./prompt-arguments.ts";
import {
  createQuestionDecisions,
  type QuestionAuditEvent,
  type QuestionOptions,
} from "./questions/question-decisions.ts";
import { type ActionOptions, createActionReceiver } from "./receive/receive-action.ts";
import { quoteOf, receiveMessageChange } from "./receive/receive-message-change.ts";
import { createMessageReceiver, type MessageOptions } from "./receive/receive-message.ts";
import { receiveStop, refuseUnauthorizedStop, type StopOptions } from "./receive/receive-stop.ts";
import { receiveWatched, type WatchedOptions } from "./receive/receive-watched.ts";
import { markRefused } from "./repeated-refusals.ts";
import { createReplies, type ReplyOptions } from "./replies.ts";
import {
  type ApprovalsAuditEvent,
  createTextCommands,
  type TextCommandOptions,
} from "./text-commands/text-commands.ts";
import { createUndoing, type UndoAuditEvent } from "./undoing.ts";
import { createWaiting, type WaitingOptions } from "./waiting-notice.ts";
import {
  createWaitingQueue,
  type QueueAuditEvent,
  type WaitingQueueOptions,
} from "./waiting-queue/waiting-queue.ts";

/** What people do that the results of their events do not tell: for the audit log. */
export type IntakeAuditEvent =
  | QuestionAuditEvent
  | AccountAuditEvent
  | ContinueAuditEvent
  | ScheduleAuditEvent
  | QueueAuditEvent
  | SettingAuditEvent
  | ApprovalsAuditEvent
  | UndoAuditEvent;

export interface IntakeOptions
  extends Omit<QuestionOptions, "mayApprove" | "audit">,
    Omit<ContinueOptions, "mayExtend" | "mayContinue" | "audit">,
    Omit<TextCommandOptions, "stop" | "audit" | "access">,
    Omit<MessageOptions, "audit">,
    ActionOptions,
    Omit<WatchedOptions, "access">,
    StopOptions,
    ReplyOptions,
    WaitingOptions,
    Omit<WaitingQueueOptions, "audit"> {
  access: Access;
  audit(event: IntakeAuditEvent): void;
}

/**
 * Creates the one way in: it checks permissions, drops duplicates, makes the event durable, and wakes the thread. What
 * a person should read about a refusal is posted from here, so that it reads the same on every platform.
 *
 * The phases of every event: authorize, receive by kind, and tell a repeated refusal from a new one.
 */
export function createIntake(options: IntakeOptions): Intake {
  const { redis, access } = options;
  const replies = createReplies(options);
  const stop = (event: InboundStop) => receiveStop({ ...options, ...replies }, event);
  const questions = createQuestionDecisions({ ...options, mayApprove: access.mayApprove });
  const continuing = createContinuing({
    ...options,
    mayExtend: access.mayExtend,
    mayContinue: (author, thread) =>
      access.mayContinue(parseThreadId(thread), author, () => readLastRequesters(redis, thread)),
  });
  const waitingQueue = createWaitingQueue(options, replies);
  const undoing = createUndoing({ ...options, mayUndo: access.mayUndo });
  const promptArguments = createPromptArguments(options, replies);
  const receiveMessage = createMessageReceiver(options, {
    promptArguments,
    runTextCommand: createTextCommands({ ...options, stop }, replies, { waitingQueue, undoing }),
    replies,
    questions,
    continuing,
    showWaiting: createWaiting(options, replies.mark),
  });
  const receiveAction = createActionReceiver(options, {
    replies,
    questions,
    continuing,
    waitingQueue,
    undoing,
    fillPrompt: (event) => promptArguments.press(event, receiveMessage),
  });

  /** The result for somebody without permission; undefined for everybody else. */
  const authorize = async (event: InboundEvent): Promise<IntakeResult | undefined> => {
    const decision = access.permission(event);
    if (decision.allowed) return undefined;
    if (!decision.reply) return { kind: "ignored", why: decision.why };
    if (event.kind === "stop") return refuseUnauthorizedStop({ redis, ...replies }, event, decision.reply);
    if (event.kind !== "message") return { kind: "refused", reply: decision.reply };
    // It was said to others, who must not learn that somebody listens.
    if (event.addressed === "none") return { kind: "ignored", why: decision.why };
    // It is not a task, but somebody with permission may still want it looked at.
    await storeUnauthorized(redis, threadId(event.thread), event.ref.message, quoteOf(event));
    if (event.addressed === "follow-up") return { kind: "ignored", why: decision.why };
    if (event.tellsRefusal) return { kind: "refused", reply: decision.reply };
    return replies.refuseUnauthorized(event, decision.reply);
  };

  /** What is in no thread of ours may be in a channel that is watched. */
  const receiveAnyMessage = async (event: InboundMessage): Promise<IntakeResult> => {
    if (event.addressed === "none") return receiveWatched(options, event);
    const result = await receiveMessage(event);
    if (result.kind !== "ignored" || !result.unclaimed) return result;
    const heard = await receiveWatched(options, event);
    return heard.kind === "ignored" ? result : heard;
  };

  const receiveAuthorized = async (event: InboundEvent): Promise<IntakeResult> => {
    switch (event.kind) {
      case "message":
        return receiveAnyMessage(event);
      case "edit":
      case "delete":
        return receiveMessageChange(options, event);
      case "stop":
        return stop(event);
      case "action":
        return receiveAction(event);
    }
  };

  return {
    async receive(delivered) {
      const event = { ...delivered, author: { ...delivered.author, name: plainName(delivered.author.name) } };
      // What was written without permission is not a task, so its author may change it without permission.
      if (event.kind === "edit" || event.kind === "delete") {
        await storeUnauthorizedEdit(redis, threadId(event.thread), event.ref.message, quoteOf(event));
      }
      const result = (await authorize(event)) ?? (await receiveAuthorized(event));
      const isRepeated = result.kind === "refused" && !(await markRefused(redis, event));
      return isRepeated ? { ...result, unchanged: true } : result;
    },
  };
}
