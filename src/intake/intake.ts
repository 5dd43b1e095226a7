import {
  type ChatSurface,
  type Door,
  type InboundEvent,
  type MessageMark,
  type MessageRef,
  type ThreadId,
  type ThreadRef,
  threadId,
  type Verdict,
} from "../adapters/adapter.ts";
import { deleteMessage, editMessage } from "../queue/amendments.ts";
import type { Budgets } from "../queue/budgets.ts";
import { keys } from "../queue/keys.ts";
import { deliver, orderStop, rememberMessages, threadOfMessage } from "../queue/mailbox.ts";
import { markMessage } from "../queue/marks.ts";
import { postNotice } from "../queue/notices.ts";
import { forgetOverheard, overhear } from "../queue/overheard.ts";
import type { OutputScheduler } from "../queue/output.ts";
import { turnToContinue } from "../queue/paused.ts";
import { type Ratings, ratingIn } from "../queue/ratings.ts";
import { lastRequesters, requestersOf } from "../queue/requesters.ts";
import { setVerbosity, type Verbosity } from "../queue/sessions.ts";
import { isOutOfMemory, OutOfMemory } from "../queue/redis/memory.ts";
import { listSchedules, type ScheduleDeed } from "../queue/schedules.ts";
import type { Access } from "./access.ts";
import { type ContinueDeed, createContinuing, isContinueWord } from "./continue.ts";
import { createQuestionDesk, type QuestionDeed, type QuestionOptions } from "./questions.ts";
import { answerScheduleWords, type ScheduleWords, scheduleWordsIn } from "./schedule-words.ts";
import { isStatusWord } from "./status-word.ts";
import { isStopWord } from "./stop-word.ts";
import { userMessage } from "./user-message.ts";
import { verbosityReply, verbosityWord } from "./verbosity-word.ts";

/** What people do that the verdicts on their events do not tell: for the audit log. */
export type IntakeDeed = QuestionDeed | ContinueDeed | ScheduleDeed;

export interface IntakeOptions extends Omit<QuestionOptions, "mayApprove" | "audit"> {
  access: Access;
  audit(deed: IntakeDeed): void;
  /** What `/status` answers. */
  status(thread: ThreadId): Promise<string>;
  /** Models that people may choose in that thread. */
  models(thread: ThreadRef): readonly string[];
  output: OutputScheduler;
  /** The surface of a platform, for marks and short replies. */
  surface(platform: string): ChatSurface;
  budgets: Pick<Budgets, "isOfToday" | "extend">;
  /** Absent where answers do not ask for opinions. */
  ratings?: Ratings;
  onProblem(problem: string, error: unknown): void;
}

/** How often a channel's people without permission are told so, each of them. */
const strangerSeconds = 600;
/** A mark that has not been set by then is left to the worker. */
const markMs = 30_000;

type MessageEvent = Extract<InboundEvent, { kind: "message" }>;
type AmendmentEvent = Extract<InboundEvent, { kind: "edit" | "delete" }>;
type StopEvent = Extract<InboundEvent, { kind: "stop" }>;
type ActionEvent = Extract<InboundEvent, { kind: "action" }>;

/**
 * The one door: authorises, drops duplicates, makes the event durable, wakes the thread. What a person should
 * read about a refusal is posted from here, so that every adapter tells it in the same words.
 */
export function createIntake(options: IntakeOptions): Door {
  const { redis, access } = options;
  const continuing = createContinuing({
    ...options,
    mayExtend: access.mayExtend,
    mayContinue: (author, thread) => access.mayContinue(author, () => lastRequesters(redis, thread)),
  });
  const questions = createQuestionDesk({ ...options, mayApprove: access.mayApprove });

  /** Says something about a message, or to whoever pressed its button, once: a platform may tell of it more than once. */
  const reply = async (event: MessageEvent | ActionEvent, markdown: string): Promise<void> => {
    const message =
      event.kind === "action" ? `${event.ref.message}~${event.action}~${event.author.id}` : event.ref.message;
    const isFirst = await redis.set(keys.replied({ ...event.ref, message }), "1", "EX", 86_400, "NX");
    if (isFirst) say(event.thread, message, markdown);
  };

  const say = (thread: ThreadRef, message: string, markdown: string) => {
    const surface = options.surface(thread.platform);
    postNotice(thread, { key: `reply:${message}`, markdown }, { ...options, surface });
  };

  /** Whoever calls again and again must not use up what the channel takes of answers and receipts. */
  const refuseStranger = async (event: MessageEvent, markdown: string): Promise<Verdict> => {
    const told = keys.replied({ ...event.ref, message: `stranger~${event.author.id}` });
    const isFirst = await redis.set(told, "1", "EX", strangerSeconds, "NX");
    if (isFirst) say(event.thread, event.ref.message, markdown);
    return { kind: "refused", reply: markdown };
  };

  /** Nobody waits for a mark. */
  const mark = (ref: MessageRef, state: MessageMark, place?: number) => {
    const chat = { redis, output: options.output, surface: options.surface(ref.platform) };
    markMessage(chat, ref, state, AbortSignal.timeout(markMs), place).catch((error: unknown) =>
      options.onProblem("A message could not be marked.", error),
    );
  };

  /** A reaction can arrive before it is noted which thread the message belongs to; then the platform is asked. */
  const findThread = async (message: MessageRef): Promise<ThreadId | undefined> => {
    const known = await threadOfMessage(redis, message);
    if (known) return known;
    try {
      const thread = await options.surface(message.platform).threadOf(message);
      return thread && threadId(thread);
    } catch (error) {
      options.onProblem("The platform did not tell which thread a message belongs to.", error);
      return undefined;
    }
  };

  const receiveStop = async (event: StopEvent): Promise<Verdict> => {
    const thread =
      "thread" in event.target ? threadId(event.target.thread) : await findThread(event.target.message);
    if (!thread) return { kind: "ignored", why: "the message belongs to no thread of ours" };
    if (!(await access.mayStop(event.author, () => requestersOf(redis, thread)))) {
      return {
        kind: "refused",
        reply: "You may not stop this: only those who asked for it, or administrators.",
      };
    }
    const stopped = await orderStop(redis, thread, { by: event.author.name, at: event.at });
    if (!stopped) return { kind: "ignored", why: "nothing is running or waiting there" };
    try {
      // When only waiting messages are stopped, a worker must still come and tell the thread.
      await options.queue.wake(thread);
    } catch (error) {
      // The order stands, and the sweeper wakes the thread when there is room again.
      if (!isOutOfMemory(error)) throw error;
      options.onProblem("A stopped thread could not be woken.", error);
    }
    return { kind: "stopping", thread };
  };

  /** Tells the person why; nothing is started. */
  const refuse = async (event: MessageEvent, markdown: string): Promise<Verdict> => {
    await reply(event, markdown);
    return { kind: "refused", reply: markdown };
  };

  /** Nothing can be stored, so that the person is told at once and past the line. */
  const refuseForMemory = async (event: MessageEvent, error: OutOfMemory): Promise<Verdict> => {
    options.onProblem(error.message, error);
    const markdown =
      "I could not take this message: my memory is full. Please write again when it is mended.";
    const key = `reply:${event.ref.message}`;
    await options.surface(event.thread.platform).post(event.thread, { kind: "notice", markdown }, key);
    return { kind: "refused", reply: markdown };
  };

  const receiveStopWord = async (event: MessageEvent): Promise<Verdict> => {
    const { author, at } = event;
    const verdict = await receiveStop({ kind: "stop", target: { thread: event.thread }, author, at });
    if (verdict.kind === "refused") return refuse(event, verdict.reply);
    if (verdict.kind === "stopping" || event.addressed === "follow-up") return verdict;
    await reply(event, "Nothing is running in this thread.");
    return verdict;
  };

  const receiveStatusWord = async (event: MessageEvent): Promise<Verdict> => {
    const thread = threadId(event.thread);
    if (event.addressed === "follow-up" && !(await redis.exists(keys.head(thread)))) {
      return { kind: "ignored", why: "no session in that thread" };
    }
    await reply(event, await options.status(thread));
    mark(event.ref, "answered");
    return { kind: "acted", thread };
  };

  const receiveVerbosity = async (event: MessageEvent, verbosity: Verbosity): Promise<Verdict> => {
    const thread = threadId(event.thread);
    if (await setVerbosity(redis, thread, verbosity)) {
      await reply(event, verbosityReply[verbosity]);
      return { kind: "acted", thread };
    }
    if (event.addressed === "follow-up") return { kind: "ignored", why: "no session in that thread" };
    return refuse(
      event,
      "Nothing was asked in this thread yet. Give me a task first, then say how much to show.",
    );
  };

  const receiveScheduleWords = async (event: MessageEvent, words: ScheduleWords): Promise<Verdict> => {
    const thread = threadId(event.thread);
    const planned = await listSchedules(redis, thread, options.now());
    if (event.addressed === "follow-up" && planned.length === 0) {
      return { kind: "ignored", why: "nothing is planned in that thread" };
    }
    const answer = await answerScheduleWords(redis, thread, words, planned);
    if (answer.cancelled !== undefined) {
      const by = event.author;
      options.audit({ action: "schedule-cancelled", thread, schedule: answer.cancelled, by });
    }
    await reply(event, answer.markdown);
    mark(event.ref, "answered");
    return { kind: "acted", thread };
  };

  const receiveMessage = async (event: MessageEvent): Promise<Verdict> => {
    const isBot = event.author.standing === "bot";
    if (!isBot && isStopWord(event.text)) return receiveStopWord(event);
    const verbosity = isBot ? undefined : verbosityWord(event.text);
    if (verbosity) return receiveVerbosity(event, verbosity);
    if (!isBot && isStatusWord(event.text)) return receiveStatusWord(event);
    const words = isBot ? undefined : scheduleWordsIn(event.text);
    if (words) return receiveScheduleWords(event, words);
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
      const known = choice.length > 0 ? `one of ${choice.join(", ")}` : "none: leave the option out";
      return refuse(event, `The model ${model} cannot be chosen here; expected ${known}.`);
    }

    const thread = threadId(event.thread);
    const leave = isContinueWord(event.text) ? await continuing.leave(event) : undefined;
    if (leave?.allowed === false) return refuse(event, leave.reply);
    const paid = leave?.paidBy === undefined ? {} : { paidBy: leave.paidBy };
    const delivery = await deliver(
      redis,
      thread,
      { ...userMessage(event), ...paid },
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
        await questions.written(event);
        await options.queue.wake(thread);
        return { kind: "duplicate" };
      case "accepted":
        await questions.written(event);
        await Promise.all([rememberMessages(redis, thread, [event.ref]), options.queue.wake(thread)]);
        if (delivery.position === 0) mark(event.ref, "taken");
        else mark(event.ref, "waiting", delivery.position);
        return { kind: "accepted", thread, position: delivery.position };
    }
  };

  /** What somebody without permission wrote is no work; people who have it may still want it looked at. */
  const overhearMessage = async (event: MessageEvent): Promise<void> => {
    const { author, text, at } = event;
    const quote = { author: { id: author.id, name: author.name }, text, at };
    await overhear(redis, threadId(event.thread), event.ref.message, quote);
  };

  const receiveAmendment = async (event: AmendmentEvent): Promise<Verdict> => {
    const thread = threadId(event.thread);
    const { id, name } = event.author;
    const amendment = { message: event.ref.message, author: { id, name }, at: event.at };
    const done =
      event.kind === "edit"
        ? await editMessage(redis, thread, { ...amendment, text: event.text })
        : await deleteMessage(redis, thread, amendment);
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
      case "changed":
      case "withdrawn":
        return { kind: "amended", thread };
    }
  };

  const receiveRating = async ({ thread, author, action }: ActionEvent): Promise<Verdict | undefined> => {
    const rating = ratingIn(action);
    if (!rating || !options.ratings) return undefined;
    if (!(await options.ratings.rate(thread, author.id, rating)))
      return { kind: "ignored", why: "that answer is not known any more" };
    return { kind: "acted", thread: threadId(thread), reply: "Thank you, that is noted." };
  };

  const receiveAction = async (event: ActionEvent): Promise<Verdict> => {
    const rated = await receiveRating(event);
    if (rated) return rated;
    const turn = turnToContinue(event.action);
    const verdict = turn === undefined ? await questions.pressed(event) : await continuing.press(event, turn);
    if (verdict?.kind === "refused" && !event.tellsRefusal) await reply(event, verdict.reply);
    return verdict ?? { kind: "ignored", why: "there is no such button" };
  };

  return {
    async receive(event) {
      const decision = access.permission(event);
      if (!decision.allowed) {
        if (event.kind === "delete") await forgetOverheard(redis, threadId(event.thread), event.ref.message);
        if (!decision.reply) return { kind: "ignored", why: decision.why };
        if (event.kind !== "message") return { kind: "refused", reply: decision.reply };
        await overhearMessage(event);
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
    },
  };
}
