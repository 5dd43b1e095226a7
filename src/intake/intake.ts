import { plainName, type Quote } from "../agent/messages.ts";
import type { InboundEvent, Intake, IntakeResult } from "../chat/inbound.ts";
import { type MessageRef, type ThreadId, threadId, type ThreadRef } from "../chat/threads.ts";
import type { Budgets } from "../queue/budgets/budgets.ts";
import { type Ratings, readRatingAction } from "../queue/budgets/ratings.ts";
import { keys } from "../queue/redis/keys.ts";
import { isOutOfMemory, OutOfMemory } from "../queue/redis/out-of-memory.ts";
import type { ScheduleAuditEvent } from "../queue/schedules/schedules.ts";
import { deliver } from "../queue/session/mailbox.ts";
import { deleteMessage, editMessage } from "../queue/session/message-changes.ts";
import { findThreadOfMessage, rememberMessages } from "../queue/session/message-threads.ts";
import { readContinueAction } from "../queue/session/paused-turn.ts";
import { listRequesters, readLastRequesters } from "../queue/session/requesters.ts";
import { storeUnauthorized, storeUnauthorizedEdit } from "../queue/session/unauthorized.ts";
import { orderStop } from "../queue/turns/stops.ts";
import type { Access } from "./access.ts";
import { type ContinueAuditEvent, createContinuing, isContinueCommand } from "./continue.ts";
import {
  createQuestionDecisions,
  type QuestionAuditEvent,
  type QuestionOptions,
} from "./question-decisions.ts";
import { createReplies, type ReplyOptions } from "./replies.ts";
import { createTextCommands, type TextCommandOptions } from "./text-commands/text-commands.ts";
import { toUserMessage } from "./user-message.ts";
import { createWaiting, type WaitingOptions } from "./waiting.ts";

/** What people do that the results of their events do not tell: for the audit log. */
export type IntakeAuditEvent = QuestionAuditEvent | ContinueAuditEvent | ScheduleAuditEvent;

export interface IntakeOptions
  extends Omit<QuestionOptions, "mayApprove" | "audit">,
    Omit<TextCommandOptions, "stop" | "audit">,
    ReplyOptions,
    WaitingOptions {
  access: Access;
  audit(event: IntakeAuditEvent): void;
  /** Models that people may choose in that thread. */
  models(thread: ThreadRef): readonly string[];
  budgets: Pick<Budgets, "isOfToday" | "extend">;
  /** Absent where answers do not ask for opinions. */
  ratings?: Ratings;
}

/** For how long the same refusal is not taken for another one. */
const refusedSeconds = 600;
/** For how long what somebody did to stop a thread is not taken for something new. */
const daySeconds = 86_400;
/** The same where it has no time of its own: a reaction may be taken back and put there again. */
const stopDedupeSeconds = 60;

type MessageEvent = Extract<InboundEvent, { kind: "message" }>;
type AmendmentEvent = Extract<InboundEvent, { kind: "edit" | "delete" }>;
type StopEvent = Extract<InboundEvent, { kind: "stop" }>;
type ActionEvent = Extract<InboundEvent, { kind: "action" }>;

/**
 * The one way in: authorises, drops duplicates, makes the event durable, wakes the thread. What a person should
 * read about a refusal is posted from here, so that every adapter tells it in the same words.
 */
export function createIntake(options: IntakeOptions): Intake {
  const { redis, access } = options;
  const continuing = createContinuing({
    ...options,
    mayExtend: access.mayExtend,
    mayContinue: (author, thread) => access.mayContinue(author, () => readLastRequesters(redis, thread)),
  });
  const questions = createQuestionDecisions({ ...options, mayApprove: access.mayApprove });
  const { reply, refuse, refuseStranger, mark } = createReplies(options);
  const showWaiting = createWaiting(options, mark);

  /** A reaction can arrive before it is noted which thread the message belongs to; then the platform is asked. */
  const findThread = async (message: MessageRef): Promise<ThreadId | undefined> => {
    const known = await findThreadOfMessage(redis, message);
    if (known) return known;
    try {
      const thread = await options.surface(message.platform).threadOf(message);
      return thread && threadId(thread);
    } catch (error) {
      options.onProblem("The platform did not tell which thread a message belongs to.", error);
      return undefined;
    }
  };

  const receiveStop = async (event: StopEvent): Promise<IntakeResult> => {
    const thread =
      "thread" in event.target ? threadId(event.target.thread) : await findThread(event.target.message);
    if (!thread) return { kind: "ignored", why: "the message belongs to no thread of ours" };
    if (!(await access.mayStop(event.author, () => listRequesters(redis, thread)))) {
      return {
        kind: "refused",
        reply: "You may not stop this: only those who asked for it, or administrators.",
      };
    }
    const { id, name } = event.author;
    const action =
      event.dedupeKey === undefined
        ? { id: `${id}~${event.at}`, seconds: daySeconds }
        : { id: `${id}~${event.dedupeKey}`, seconds: stopDedupeSeconds };
    const ordered = await orderStop(redis, thread, { by: name, at: event.at }, action);
    if (ordered === "nothing") return { kind: "ignored", why: "nothing is running or waiting there" };
    try {
      // When only waiting messages are stopped, a worker must still come and tell the thread.
      await options.queue.wake(thread);
    } catch (error) {
      // The order stands, and the sweeper wakes the thread when there is room again.
      if (!isOutOfMemory(error)) throw error;
      options.onProblem("A stopped thread could not be woken.", error);
    }
    return { kind: "stopping", thread, ...(ordered === "repeated" && { unchanged: true }) };
  };

  /** What was refused last for want of memory: there is no room to note it in Redis. */
  let refusedLast = "";

  /** Nothing can be stored, so that the person is told at once and past the line. */
  const refuseForMemory = async (event: MessageEvent, error: OutOfMemory): Promise<IntakeResult> => {
    options.onProblem(error.message, error);
    const markdown =
      "I could not take this message: my memory is full. Please write again when it is mended.";
    const key = `reply:${event.ref.message}`;
    if (key === refusedLast) return { kind: "refused", reply: markdown };
    refusedLast = key;
    await options.surface(event.thread.platform).post(event.thread, { kind: "notice", markdown }, key);
    return { kind: "refused", reply: markdown };
  };

  const receiveWord = createTextCommands({ ...options, stop: receiveStop }, { reply, refuse, mark });

  const receiveMessage = async (event: MessageEvent): Promise<IntakeResult> => {
    const isBot = event.author.standing === "bot";
    const order = isBot ? undefined : await receiveWord(event);
    if (order) return order;
    if (event.text.trim() === "" && event.attachments.length === 0 && !event.about) {
      if (event.addressed === "follow-up") return { kind: "ignored", why: "no text" };
      return refuse(
        event,
        "You called me without a task. Write what you need in the same message, and I start.",
      );
    }
    const { model } = event.options ?? {};
    const choice = model === undefined ? [] : options.models(event.thread);
    if (model !== undefined && !choice.includes(model)) {
      const instead = choice.length > 0 ? `choose one of ${choice.join(", ")}` : "leave the model out";
      return refuse(event, `The model ${model} cannot be chosen here: ${instead}, and ask again.`);
    }

    const thread = threadId(event.thread);
    const asksToGoOn =
      isContinueCommand(event.text) &&
      // Told again, it must not extend the budget of a later pause.
      !(await redis.exists(keys.seen(thread, event.ref.message)));
    const leave = asksToGoOn ? await continuing.leave(event) : undefined;
    if (leave?.allowed === false) return refuse(event, leave.reply);
    const paid = leave?.paidBy === undefined ? {} : { paidBy: leave.paidBy };
    const delivery = await deliver(
      redis,
      thread,
      { ...toUserMessage(event), ...paid },
      {
        onlyIfSession: event.addressed === "follow-up",
        ...(isBot && { botLimit: access.botLimit }),
        now: options.now(),
      },
    );
    switch (delivery.kind) {
      case "no-session":
        return { kind: "ignored", why: "no session in that thread" };
      case "bots-only":
        return { kind: "ignored", why: "bots have written all that they may until a person writes" };
      case "duplicate":
        if (delivery.hasQuestions) await questions.written(event);
        await options.queue.wake(thread);
        return { kind: "duplicate" };
      case "accepted": {
        if (leave?.auditEvent) options.audit(leave.auditEvent);
        if (delivery.hasQuestions) await questions.written(event);
        await Promise.all([
          rememberMessages(redis, thread, [event.ref]),
          options.queue.wake(thread, { people: true, scheduled: delivery.hasScheduled ?? false }),
        ]);
        showWaiting(event).catch((error: unknown) =>
          options.onProblem("It was not found out whether a message waits.", error),
        );
        return { kind: "accepted", thread, position: delivery.position };
      }
    }
  };

  /** What somebody without permission wrote is no work; people who have it may still want it looked at. */
  const storeUnauthorizedMessage = (event: MessageEvent): Promise<void> =>
    storeUnauthorized(redis, threadId(event.thread), event.ref.message, quoteOf(event));

  const receiveAmendment = async (event: AmendmentEvent): Promise<IntakeResult> => {
    const thread = threadId(event.thread);
    const { id, name } = event.author;
    const change = { message: event.ref.message, author: { id, name }, at: event.at };
    const done =
      event.kind === "edit"
        ? await editMessage(redis, thread, { ...change, text: event.text })
        : await deleteMessage(redis, thread, change);
    switch (done) {
      case "too-late":
        return { kind: "ignored", why: "nobody works on that message" };
      case "passed-on":
        // The turn may have ended in the meantime.
        await options.queue.wake(thread);
        return { kind: "amended", thread };
      case "stopping":
        // A turn that waits for people has no worker to hear of it.
        await options.queue.wake(thread);
        return { kind: "stopping", thread };
      case "repeated":
        await options.queue.wake(thread);
        return { kind: "amended", thread, unchanged: true };
      case "changed":
      case "withdrawn":
        return { kind: "amended", thread };
    }
  };

  const receiveRating = async ({
    thread,
    author,
    action,
  }: ActionEvent): Promise<IntakeResult | undefined> => {
    const rating = readRatingAction(action);
    if (!rating || !options.ratings) return undefined;
    const done = await options.ratings.rate(thread, author.id, rating);
    if (done === "unknown-answer") return { kind: "ignored", why: "that answer is not known any more" };
    const unchanged = done === "unchanged" && ({ unchanged: true } as const);
    return { kind: "acted", thread: threadId(thread), reply: "Thank you, that is noted.", ...unchanged };
  };

  const receiveAction = async (event: ActionEvent): Promise<IntakeResult> => {
    const rated = await receiveRating(event);
    if (rated) return rated;
    const turn = readContinueAction(event.action);
    const result = turn === undefined ? await questions.pressed(event) : await continuing.press(event, turn);
    if (result?.kind === "refused" && !event.tellsRefusal) await reply(event, result.reply);
    return result ?? { kind: "ignored", why: "there is no such button" };
  };

  /** Whether the same event was refused before: Slack tells of a mention twice, and each of several gateways does. */
  const wasRefused = async (event: InboundEvent): Promise<boolean> => {
    const { message, ...place } = whatOf(event);
    const key = keys.replied({ ...place, message: `refused~${event.author.id}~${message}` });
    try {
      return (await redis.set(key, "1", "EX", refusedSeconds, "NX")) === null;
    } catch (error) {
      // Told all the same, without room to note it.
      if (isOutOfMemory(error)) return false;
      throw error;
    }
  };

  const take = async (event: InboundEvent): Promise<IntakeResult> => {
    const decision = access.permission(event);
    // What was written without permission is nobody's work, so its author may change it without permission.
    if (event.kind === "edit" || event.kind === "delete") {
      await storeUnauthorizedEdit(redis, threadId(event.thread), event.ref.message, quoteOf(event));
    }
    if (!decision.allowed) {
      if (!decision.reply) return { kind: "ignored", why: decision.why };
      if (event.kind !== "message") return { kind: "refused", reply: decision.reply };
      await storeUnauthorizedMessage(event);
      if (event.addressed === "follow-up") return { kind: "ignored", why: decision.why };
      if (event.tellsRefusal) return { kind: "refused", reply: decision.reply };
      return refuseStranger(event, decision.reply);
    }
    switch (event.kind) {
      case "message":
        try {
          return await receiveMessage(event);
        } catch (error) {
          if (error instanceof OutOfMemory) return refuseForMemory(event, error);
          throw error;
        }
      case "edit":
      case "delete":
        return receiveAmendment(event);
      case "stop":
        return receiveStop(event);
      case "action":
        return receiveAction(event);
    }
  };

  return {
    async receive(told) {
      const event = { ...told, author: { ...told.author, name: plainName(told.author.name) } };
      const result = await take(event);
      const isRepeated = result.kind === "refused" && (await wasRefused(event));
      return isRepeated ? { ...result, unchanged: true } : result;
    },
  };
}

/** Where something was done and what, the same each time that it is told. */
function whatOf(event: InboundEvent): MessageRef {
  if (event.kind === "stop") {
    const { platform, workspace, channel } =
      "thread" in event.target ? event.target.thread : event.target.message;
    return { platform, workspace, channel, message: `stop~${event.dedupeKey ?? event.at}` };
  }
  return event.kind === "action"
    ? { ...event.ref, message: `${event.ref.message}~${event.action}~${event.at}` }
    : event.ref;
}

function quoteOf(event: MessageEvent | AmendmentEvent): Quote {
  const { id, name } = event.author;
  return { author: { id, name }, text: event.kind === "delete" ? "" : event.text, at: event.at };
}
