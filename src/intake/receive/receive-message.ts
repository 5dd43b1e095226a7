import type { Redis } from "ioredis";
import type { Author, InboundMessage, IntakeResult } from "../../chat/inbound.ts";
import { findIncompletePrompt, findPromptProblem, type OfferedPrompt } from "../../chat/prompt-choice.ts";
import type { ChatSurface } from "../../chat/surface.ts";
import { threadId, type ThreadRef } from "../../chat/threads.ts";
import { keys } from "../../queue/redis/keys.ts";
import { OutOfMemory } from "../../queue/redis/out-of-memory.ts";
import { deliver } from "../../queue/session/mailbox/mailbox.ts";
import { rememberMessages } from "../../queue/session/mailbox/message-threads.ts";
import { setThreadModel } from "../../queue/session/choices/thread-model.ts";
import type { TurnQueue } from "../../queue/turns/wake-queue.ts";
import type { Access } from "../access.ts";
import {
  type ContinueAuditEvent,
  type ContinuePermission,
  type Continuing,
  isContinueCommand,
} from "../continue-paused.ts";
import type { PromptArguments } from "../prompt-arguments.ts";
import type { QuestionDecisions } from "../questions/question-decisions.ts";
import type { Replies } from "../replies.ts";
import type { ModelOffer } from "../text-commands/model.ts";
import { choosePrompt } from "../text-commands/prompt.ts";
import { toUserMessage } from "./user-message.ts";

export interface MessageOptions {
  redis: Redis;
  queue: Pick<TurnQueue, "wake">;
  access: Pick<Access, "botLimit">;
  /** The models that answer, or may be chosen, in that thread. */
  models(thread: ThreadRef): ModelOffer;
  /** The prompts of MCP servers that the person may begin a task with in that thread. */
  prompts(thread: ThreadRef, author: Author): Promise<readonly OfferedPrompt[]>;
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
  promptArguments: Pick<PromptArguments, "ask">;
  /** Shows the message's place in the queue until a turn takes it. */
  showWaiting(event: InboundMessage): Promise<void>;
}

type Delivery = Awaited<ReturnType<typeof deliver>>;

/** For how long somebody who has called the bot without a task may write it in that thread. */
const calledSeconds = 3_600;

function isEmpty({ text, attachments, about }: InboundMessage): boolean {
  return text.trim() === "" && attachments.length === 0 && !about;
}

/** Whether anybody has written in the thread before. */
async function hasEarlier(
  { surface, onProblem }: Pick<MessageOptions, "surface" | "onProblem">,
  { thread, ref }: InboundMessage,
): Promise<boolean> {
  try {
    const earlier = await surface(thread.platform).earlier?.(thread, ref, 2);
    return earlier !== undefined && earlier.length > 0;
  } catch (error) {
    onProblem("The platform did not say what was written in a thread before.", error);
    return false;
  }
}

/** Why what the message chooses cannot be chosen there, for its author. */
async function findChoiceProblem(
  { models, prompts }: Pick<MessageOptions, "models" | "prompts">,
  { options: { model, prompt } = {}, thread, author }: InboundMessage,
): Promise<string | undefined> {
  const choices = model === undefined ? [] : models(thread).choices;
  if (model !== undefined && !choices.includes(model)) {
    const instead = choices.length > 0 ? `choose one of ${choices.join(", ")}` : "leave the model out";
    return `The model ${model} cannot be chosen here: ${instead}, and ask again.`;
  }
  return prompt && findPromptProblem(prompt, await prompts(thread, author));
}

/** The prompt whose arguments its author can be asked for: not in private, where the task is nowhere yet. */
async function findIncomplete(
  { models, prompts }: Pick<MessageOptions, "models" | "prompts">,
  { options: { model, prompt } = {}, thread, author, tellsRefusal }: InboundMessage,
): Promise<OfferedPrompt | undefined> {
  if (!prompt || tellsRefusal || author.standing === "bot") return undefined;
  if (model !== undefined && !models(thread).choices.includes(model)) return undefined;
  return findIncompletePrompt(prompt, await prompts(thread, author));
}

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

  const refuseEmpty = async (event: InboundMessage): Promise<IntakeResult> => {
    if (event.addressed === "follow-up") return { kind: "ignored", why: "no text" };
    await redis.set(keys.called(threadId(event.thread), event.author.id), "1", "EX", calledSeconds);
    return replies.refuse(event, "You called me without a task. Write here what you need, and I'll start.");
  };

  const checkTask = async (event: InboundMessage): Promise<IntakeResult | undefined> => {
    if (isEmpty(event)) return refuseEmpty(event);
    const problem = await findChoiceProblem(options, event);
    if (problem === undefined) return undefined;
    const prompt = await findIncomplete(options, event);
    return prompt ? deps.promptArguments.ask(event, prompt) : replies.refuse(event, problem);
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

  /** Who is called with no other word is to read what was said, as a colleague would. */
  const completeTask = async (event: InboundMessage): Promise<InboundMessage> => {
    if (!isEmpty(event) || event.addressed !== "mention" || !(await hasEarlier(options, event))) return event;
    return { ...event, text: "Read this thread, and help with what it is about." };
  };

  /** Whoever called the bot without a task writes it next, and need not call it again. */
  const deliverTask = async (event: InboundMessage, paidBy: string | undefined): Promise<Delivery> => {
    const delivery = await deliverToMailbox(event, paidBy);
    if (delivery.kind !== "no-session") return delivery;
    const hasCalled = await redis.exists(keys.called(threadId(event.thread), event.author.id));
    return hasCalled ? deliverToMailbox({ ...event, addressed: "mention" }, paidBy) : delivery;
  };

  const receiveTask = async (received: InboundMessage): Promise<IntakeResult> => {
    const event = choosePrompt(await completeTask(received));
    const early = (await runCommand(event)) ?? (await checkTask(event));
    if (early) return early;
    const permission = await askToContinue(event);
    if (permission?.allowed === false) return replies.refuse(event, permission.reply);
    const delivery = await deliverTask(event, permission?.paidBy);
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
