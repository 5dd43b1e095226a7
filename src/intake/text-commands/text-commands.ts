import type { Redis } from "ioredis";
import type { InboundMessage, InboundStop, IntakeResult } from "../../chat/inbound.ts";
import { type ThreadId, threadId, type ThreadRef } from "../../chat/threads.ts";
import { keys } from "../../queue/redis/keys.ts";
import { listSchedules, type ScheduleAuditEvent } from "../../queue/schedules/schedules.ts";
import { setVerbosity, type Verbosity } from "../../queue/session/verbosity.ts";
import { readStop } from "../../queue/turns/stops.ts";
import { chooseModel } from "../choose-model.ts";
import type { Replies } from "../replies.ts";
import type { WaitingQueue } from "../waiting-queue/waiting-queue.ts";
import { type ModelOffer, readModelCommand } from "./model.ts";
import { type QueueCommand, readQueueCommand } from "./queue.ts";
import { answerScheduleCommand, readScheduleCommand, type ScheduleCommand } from "./schedules.ts";
import { isStatusCommand } from "./status.ts";
import { isStopCommand } from "./stop.ts";
import { readVerbosityCommand, verbosityReply } from "./verbosity.ts";

export interface TextCommandOptions {
  redis: Redis;
  stop(event: InboundStop): Promise<IntakeResult>;
  /** The answer to `/status`. */
  status(thread: ThreadId): Promise<string>;
  /** The models that answer, or may be chosen, in that thread. */
  models(thread: ThreadRef): ModelOffer;
  audit(event: ScheduleAuditEvent): void;
  now(): number;
}

/** Creates what runs a message that is a text command (`stop`, `/status`, `!quiet`), without a turn; undefined for others. */
export function createTextCommands(
  options: TextCommandOptions,
  { reply, refuse, mark }: Pick<Replies, "reply" | "refuse" | "mark">,
  waitingQueue: Pick<WaitingQueue, "view" | "change">,
): (event: InboundMessage) => Promise<IntakeResult | undefined> {
  const { redis } = options;

  /** Says it in the thread, or leaves it to the adapter where that tells the person alone. */
  const answer = async (event: InboundMessage, markdown: string): Promise<IntakeResult> => {
    const thread = threadId(event.thread);
    if (event.tellsRefusal) return { kind: "acted", thread, reply: markdown };
    const isFirst = await reply(event, markdown);
    return { kind: "acted", thread, ...(!isFirst && { unchanged: true }) };
  };
  const answerAndMark = async (event: InboundMessage, markdown: string): Promise<IntakeResult> => {
    const result = await answer(event, markdown);
    if (!event.tellsRefusal) void mark(event.ref, "answered");
    return result;
  };

  /** People talk among each other in other threads. */
  const isNotOurs = async ({ addressed }: InboundMessage, thread: ThreadId): Promise<boolean> =>
    addressed === "follow-up" && !(await redis.exists(keys.head(thread)));

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

  const runStatus = async (event: InboundMessage): Promise<IntakeResult> => {
    const thread = threadId(event.thread);
    if (await isNotOurs(event, thread)) return noSession;
    return answerAndMark(event, await options.status(thread));
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

  const runSchedules = async (event: InboundMessage, command: ScheduleCommand): Promise<IntakeResult> => {
    const thread = threadId(event.thread);
    if (await isNotOurs(event, thread)) return noSession;
    const planned = await listSchedules(redis, thread, options.now());
    const { markdown, cancelled } = await answerScheduleCommand(redis, thread, command, planned);
    if (cancelled !== undefined) {
      const by = event.author;
      options.audit({ action: "schedule-cancelled", thread, schedule: cancelled, by });
    }
    return answerAndMark(event, markdown);
  };

  const runModel = async (event: InboundMessage, words: readonly string[]): Promise<IntakeResult> => {
    const thread = threadId(event.thread);
    if (await isNotOurs(event, thread)) return noSession;
    const answered = await chooseModel(options, event.thread, words);
    const { markdown } = answered;
    if (answered.kind === "refused") return refuse(event, markdown);
    if (event.tellsRefusal) return { kind: "acted", thread, reply: markdown, menus: answered.menus };
    return answerAndMark(event, markdown);
  };

  const runQueue = async (event: InboundMessage, command: QueueCommand): Promise<IntakeResult> => {
    const thread = threadId(event.thread);
    if (await isNotOurs(event, thread)) return noSession;
    if (command.do !== "list") return waitingQueue.change(event, command);
    const { markdown, menus } = await waitingQueue.view(event);
    if (event.tellsRefusal) return { kind: "acted", thread, reply: markdown, menus };
    return answerAndMark(event, markdown);
  };

  return async (event) => {
    if (isStopCommand(event.text)) return runStop(event);
    const verbosity = readVerbosityCommand(event.text);
    if (verbosity) return runVerbosity(event, verbosity);
    if (isStatusCommand(event.text)) return runStatus(event);
    const words = readModelCommand(event.text);
    if (words) return runModel(event, words);
    const queueCommand = readQueueCommand(event.text);
    if (queueCommand) return runQueue(event, queueCommand);
    const command = readScheduleCommand(event.text);
    return command && runSchedules(event, command);
  };
}

const noSession = { kind: "ignored", why: "no session in that thread" } as const;
