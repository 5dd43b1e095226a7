import type { Redis } from "ioredis";
import {
  type Author,
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
import { describeSchedule, type Schedule } from "../agent/tools/schedules.ts";
import { deleteMessage, editMessage } from "../queue/amendments.ts";
import type { Budgets } from "../queue/budgets.ts";
import { keys } from "../queue/keys.ts";
import { deliver, orderStop, rememberMessages, threadOfMessage } from "../queue/mailbox.ts";
import { markMessage } from "../queue/marks.ts";
import { postNotice } from "../queue/notices.ts";
import type { OutputScheduler } from "../queue/output.ts";
import { turnToContinue } from "../queue/paused.ts";
import { OutOfMemory } from "../queue/redis/memory.ts";
import { cancelSchedule, listSchedules } from "../queue/schedules.ts";
import type { TurnQueue } from "../queue/turns.ts";
import { permission } from "./access.ts";
import { createContinuing, isContinueWord } from "./continue.ts";
import { type ScheduleWords, scheduleWordsIn } from "./schedule-words.ts";
import { isStopWord } from "./stop-word.ts";

export interface IntakeOptions {
  redis: Redis;
  queue: TurnQueue;
  output: OutputScheduler;
  /** The surface of a platform, for marks and short replies. */
  surface(platform: string): ChatSurface;
  budgets: Pick<Budgets, "isOfToday" | "extend">;
  /** Who may let a turn go on whose day's budget is used up. */
  mayExtend(author: Author, thread: ThreadRef): boolean;
  now(): number;
  onProblem(problem: string, error: unknown): void;
}

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
  const { redis } = options;
  const continuing = createContinuing(options);

  /** Says something about a message, or to whoever pressed its button, once: a platform may tell of it more than once. */
  const reply = async (event: MessageEvent | ActionEvent, markdown: string): Promise<void> => {
    const message =
      event.kind === "action" ? `${event.ref.message}~${event.action}~${event.author.id}` : event.ref.message;
    const isFirst = await redis.set(keys.replied({ ...event.ref, message }), "1", "EX", 86_400, "NX");
    if (!isFirst) return;
    const surface = options.surface(event.thread.platform);
    postNotice(event.thread, { key: `reply:${message}`, markdown }, { ...options, surface });
  };

  /** Nobody waits for a mark. */
  const mark = (ref: MessageRef, state: MessageMark) => {
    const surface = options.surface(ref.platform);
    markMessage({ redis, output: options.output, surface }, ref, state, AbortSignal.timeout(markMs)).catch(
      (error: unknown) => options.onProblem("A message could not be marked.", error),
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
    const stopped = await orderStop(redis, thread, { by: event.author.name, at: event.at });
    if (!stopped) return { kind: "ignored", why: "nothing is running or waiting there" };
    // When only waiting messages are stopped, a worker must still come and tell the thread.
    await options.queue.wake(thread);
    return { kind: "stopping", thread };
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

  const receiveScheduleWords = async (event: MessageEvent, words: ScheduleWords): Promise<Verdict> => {
    const thread = threadId(event.thread);
    const planned = await listSchedules(redis, thread, options.now());
    if (event.addressed === "follow-up" && planned.length === 0) {
      return { kind: "ignored", why: "nothing is planned in that thread" };
    }
    await reply(event, await answerTo(words, thread, planned));
    mark(event.ref, "answered");
    return { kind: "acted", thread };
  };

  const answerTo = async (
    words: ScheduleWords,
    thread: ThreadId,
    planned: readonly Schedule[],
  ): Promise<string> => {
    if (planned.length === 0) return "Nothing is planned in this thread.";
    if (words.do === "cancel") {
      return (await cancelSchedule(redis, thread, words.id))
        ? `Schedule ${words.id} is cancelled.`
        : `There is no schedule ${words.id} in this thread; \`/schedules\` lists them.`;
    }
    const list = planned.map((schedule) => `- ${describeSchedule(schedule)}`);
    return [...list, "", "`/unschedule <id>` cancels one."].join("\n");
  };

  const receiveMessage = async (event: MessageEvent): Promise<Verdict> => {
    if (isStopWord(event.text)) {
      const verdict = await receiveStop({
        kind: "stop",
        target: { thread: event.thread },
        author: event.author,
        at: event.at,
      });
      if (verdict.kind === "stopping" || event.addressed === "follow-up") return verdict;
      await reply(event, "Nothing is running in this thread.");
      return verdict;
    }
    const words = scheduleWordsIn(event.text);
    if (words) return receiveScheduleWords(event, words);
    if (event.text.trim() === "" && event.attachments.length === 0) {
      if (event.addressed === "follow-up") return { kind: "ignored", why: "no text" };
      const markdown = "You called me without a task. Write what you need in the same message, and I start.";
      await reply(event, markdown);
      return { kind: "refused", reply: markdown };
    }

    const thread = threadId(event.thread);
    const { id, name } = event.author;
    const leave = isContinueWord(event.text) ? await continuing.leave(event) : undefined;
    if (leave?.allowed === false) {
      await reply(event, leave.reply);
      return { kind: "refused", reply: leave.reply };
    }
    const message = {
      role: "user" as const,
      id: event.ref.message,
      author: { id, name },
      text: textWithFiles(event),
      at: event.at,
      ...(event.trace && { trace: event.trace }),
      ...(leave?.paidBy !== undefined && { paidBy: leave.paidBy }),
    };
    const delivery = await deliver(redis, thread, message, {
      onlyIfSession: event.addressed === "follow-up",
      now: options.now(),
    });
    switch (delivery.kind) {
      case "no-session":
        return { kind: "ignored", why: "no session in that thread" };
      case "duplicate":
        await options.queue.wake(thread);
        return { kind: "duplicate" };
      case "accepted":
        await Promise.all([rememberMessages(redis, thread, [event.ref]), options.queue.wake(thread)]);
        mark(event.ref, delivery.position === 0 ? "taken" : "waiting");
        return { kind: "accepted", thread, position: delivery.position };
    }
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
        return { kind: "stopping", thread };
      case "changed":
      case "withdrawn":
        return { kind: "amended", thread };
    }
  };

  const receiveAction = async (event: ActionEvent): Promise<Verdict> => {
    const turn = turnToContinue(event.action);
    if (turn === undefined) return { kind: "ignored", why: "there is no such button" };
    const verdict = await continuing.press(event, turn);
    if (verdict.kind === "refused" && !event.tellsRefusal) await reply(event, verdict.reply);
    return verdict;
  };

  return {
    async receive(event) {
      const decision = permission(event);
      if (!decision.allowed) {
        if (!decision.reply || event.kind !== "message" || event.addressed === "follow-up") {
          return { kind: "ignored", why: decision.why };
        }
        await reply(event, decision.reply);
        return { kind: "refused", reply: decision.reply };
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

/** Names the files that came along; they are brought into the workspace by a later step of the path. */
function textWithFiles(event: MessageEvent): string {
  if (event.attachments.length === 0) return event.text;
  const names = event.attachments.map(({ name, bytes }) => `${name} (${bytes} bytes)`).join(", ");
  return `${event.text}\n\n(Attached but not readable yet: ${names})`.trim();
}
