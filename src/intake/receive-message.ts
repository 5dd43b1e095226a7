import type { Redis } from "ioredis";
import type { InboundMessage, IntakeResult } from "../chat/inbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import { threadId, type ThreadRef } from "../chat/threads.ts";
import { keys } from "../queue/redis/keys.ts";
import { OutOfMemory } from "../queue/redis/out-of-memory.ts";
import { deliver } from "../queue/session/mailbox.ts";
import { rememberMessages } from "../queue/session/message-threads.ts";
import { setThreadModel } from "../queue/session/thread-model.ts";
import type { TurnQueue } from "../queue/turns/wake-queue.ts";
import type { Access } from "./access.ts";
import {
  type ContinueAuditEvent,
  type ContinuePermission,
  type Continuing,
  isContinueCommand,
} from "./continue-paused.ts";
import type { QuestionDecisions } from "./question-decisions.ts";
import type { Replies } from "./replies.ts";
import type { ModelOffer } from "./text-commands/model.ts";
import { toUserMessage } from "./user-message.ts";

export interface MessageOptions {
  redis: Redis;
  queue: Pick<TurnQueue, "wake">;
  access: Pick<Access, "botLimit">;
  /** The models that answer, or may be chosen, in that thread. */
  models(thread: ThreadRef): ModelOffer;
  surface(platform: string): ChatSurface;
  audit(event: ContinueAuditEvent): void;
  now(): number;
  onProblem(problem: string, error: unknown): void;
}

/** The neighbours that a message is passed to. */
interface MessageDeps {
  runTextCommand(event: InboundMessage): Promise<IntakeResult | undefined>;
  replies: Replies;
  questions: QuestionDecisions;
  continuing: Continuing;
  /** Shows the message's place in the queue until a turn takes it. */
  showWaiting(event: InboundMessage): Promise<void>;
}

type Delivery = Awaited<ReturnType<typeof deliver>>;

/**
 * Creates what takes messages, in four phases: run a text command, check the task, resume a paused turn, deliver. The
 * first phase that has a result ends it.
 */
export function createMessageReceiver(
  options: MessageOptions,
  deps: MessageDeps,
): (event: InboundMessage) => Promise<IntakeResult> {
  const { redis, queue } = options;
  const { replies, questions, continuing } = deps;
  const refuseForMemory = createMemoryRefusal(options);

  const runCommand = async (event: InboundMessage): Promise<IntakeResult | undefined> =>
    event.author.standing === "bot" ? undefined : deps.runTextCommand(event);

  const checkTask = async (event: InboundMessage): Promise<IntakeResult | undefined> => {
    const isEmpty = event.text.trim() === "" && event.attachments.length === 0 && !event.about;
    if (isEmpty && event.addressed === "follow-up") return { kind: "ignored", why: "no text" };
    if (isEmpty) {
      return replies.refuse(
        event,
        "You called me without a task. Write what you need in the same message, and I'll start.",
      );
    }
    const { model } = event.options ?? {};
    const models = model === undefined ? [] : options.models(event.thread).choices;
    if (model === undefined || models.includes(model)) return undefined;
    const instead = models.length > 0 ? `choose one of ${models.join(", ")}` : "leave the model out";
    return replies.refuse(event, `The model ${model} cannot be chosen here: ${instead}, and ask again.`);
  };

  /** Undefined where the message does not ask to continue. */
  const askToContinue = async (event: InboundMessage): Promise<ContinuePermission | undefined> => {
    if (!isContinueCommand(event.text)) return undefined;
    // A duplicate must not extend the budget of a later pause.
    if (await redis.exists(keys.seen(threadId(event.thread), event.ref.message))) return undefined;
    return continuing.askPermission(event);
  };

  const deliverToMailbox = (event: InboundMessage, paidBy: string | undefined): Promise<Delivery> =>
    deliver(
      redis,
      threadId(event.thread),
      { ...toUserMessage(event), ...(paidBy !== undefined && { paidBy }) },
      {
        onlyIfSession: event.addressed === "follow-up",
        ...(event.author.standing === "bot" && { botLimit: options.access.botLimit }),
        now: options.now(),
      },
    );

  const conclude = async (event: InboundMessage, delivery: Delivery): Promise<IntakeResult> => {
    const thread = threadId(event.thread);
    switch (delivery.kind) {
      case "no-session":
        return { kind: "ignored", why: "no session in that thread", unclaimed: true };
      case "bots-only":
        return { kind: "ignored", why: "bots have written all that they may until a person writes" };
      case "full":
        return replies.refuse(
          event,
          "So many messages wait in this thread that I could not take this one. Send it again once I have worked on some of them.",
        );
      case "duplicate":
        if (delivery.hasQuestions) await questions.decideByMessage(event);
        await queue.wake(thread);
        return { kind: "duplicate" };
      case "accepted":
        // What a message names from now on counts, in place of an earlier `!model`.
        if (event.options?.model !== undefined) await setThreadModel(redis, thread, {});
        if (delivery.hasQuestions) await questions.decideByMessage(event);
        await Promise.all([
          rememberMessages(redis, thread, [event.ref]),
          queue.wake(thread, { people: true, scheduled: delivery.hasScheduled ?? false }),
        ]);
        deps
          .showWaiting(event)
          .catch((error: unknown) =>
            options.onProblem("Heddle could not find out whether a message is waiting.", error),
          );
        return { kind: "accepted", thread, position: delivery.position };
    }
  };

  const receiveTask = async (event: InboundMessage): Promise<IntakeResult> => {
    const early = (await runCommand(event)) ?? (await checkTask(event));
    if (early) return early;
    const permission = await askToContinue(event);
    if (permission?.allowed === false) return replies.refuse(event, permission.reply);
    const delivery = await deliverToMailbox(event, permission?.paidBy);
    if (delivery.kind === "accepted" && permission?.auditEvent) options.audit(permission.auditEvent);
    return conclude(event, delivery);
  };

  return async (event) => {
    try {
      return await receiveTask(event);
    } catch (error) {
      if (error instanceof OutOfMemory) return refuseForMemory(event, error);
      throw error;
    }
  };
}

/** Creates the refusal for when Redis is full: it is posted at once and bypasses the rate limit, which needs Redis. */
function createMemoryRefusal({ surface, onProblem }: Pick<MessageOptions, "surface" | "onProblem">) {
  /** Kept in this process: Redis has no memory to record it. */
  let lastKey = "";
  return async (event: InboundMessage, error: OutOfMemory): Promise<IntakeResult> => {
    onProblem(error.message, error);
    const reply =
      "I could not take this message: my memory is full. Please write again once it has been fixed.";
    const key = `reply:${event.ref.message}`;
    if (key !== lastKey) {
      lastKey = key;
      await surface(event.thread.platform).post(event.thread, { kind: "notice", markdown: reply }, key);
    }
    return { kind: "refused", reply };
  };
}
