import type { Redis } from "ioredis";
import type { InboundEvent, Verdict } from "../../chat/inbound.ts";
import { type ThreadId, threadId } from "../../chat/threads.ts";
import { keys } from "../../queue/redis/keys.ts";
import { listSchedules, type ScheduleDeed } from "../../queue/schedules/schedules.ts";
import { setVerbosity, type Verbosity } from "../../queue/session/verbosity.ts";
import { readStop } from "../../queue/turns/stops.ts";
import type { Replies } from "../replies.ts";
import { answerScheduleWords, type ScheduleWords, scheduleWordsIn } from "./schedules.ts";
import { isStatusWord } from "./status.ts";
import { isStopWord } from "./stop.ts";
import { verbosityReply, verbosityWord } from "./verbosity.ts";

type MessageEvent = Extract<InboundEvent, { kind: "message" }>;
type StopEvent = Extract<InboundEvent, { kind: "stop" }>;

export interface WordOptions {
  redis: Redis;
  stop(event: StopEvent): Promise<Verdict>;
  /** What `/status` answers. */
  status(thread: ThreadId): Promise<string>;
  audit(deed: ScheduleDeed): void;
  now(): number;
}

/** Does what a message of one word orders (`stop`, `/status`, `!quiet`), without a turn; undefined for all others. */
export function createWords(
  options: WordOptions,
  { reply, refuse, mark }: Pick<Replies, "reply" | "refuse" | "mark">,
): (event: MessageEvent) => Promise<Verdict | undefined> {
  const { redis } = options;

  const stopWord = async (event: MessageEvent): Promise<Verdict> => {
    const { author, at } = event;
    const verdict = await options.stop({ kind: "stop", target: { thread: event.thread }, author, at });
    if (verdict.kind === "refused") return refuse(event, verdict.reply);
    if (verdict.kind === "stopping" || event.addressed === "follow-up") return verdict;
    // A mention is told twice by Slack, and by each of several gateways: it may have stopped everything already.
    const order = await readStop(redis, threadId(event.thread));
    if (order && order.at >= at) return { kind: "duplicate" };
    await reply(event, "Nothing is running in this thread.");
    return verdict;
  };

  const statusWord = async (event: MessageEvent): Promise<Verdict> => {
    const thread = threadId(event.thread);
    if (event.addressed === "follow-up" && !(await redis.exists(keys.head(thread)))) {
      return { kind: "ignored", why: "no session in that thread" };
    }
    const isFirst = await reply(event, await options.status(thread));
    void mark(event.ref, "answered");
    return acted(thread, isFirst);
  };

  const chooseVerbosity = async (event: MessageEvent, verbosity: Verbosity): Promise<Verdict> => {
    const thread = threadId(event.thread);
    if (await setVerbosity(redis, thread, verbosity)) {
      return acted(thread, await reply(event, verbosityReply[verbosity]));
    }
    if (event.addressed === "follow-up") return { kind: "ignored", why: "no session in that thread" };
    return refuse(
      event,
      "Nothing was asked in this thread yet. Give me a task first, then say how much to show.",
    );
  };

  const schedules = async (event: MessageEvent, words: ScheduleWords): Promise<Verdict> => {
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
    const isFirst = await reply(event, answer.markdown);
    void mark(event.ref, "answered");
    return acted(thread, isFirst);
  };

  return async (event) => {
    if (isStopWord(event.text)) return stopWord(event);
    const verbosity = verbosityWord(event.text);
    if (verbosity) return chooseVerbosity(event, verbosity);
    if (isStatusWord(event.text)) return statusWord(event);
    const words = scheduleWordsIn(event.text);
    return words && schedules(event, words);
  };
}

function acted(thread: ThreadId, isFirst: boolean): Verdict {
  return { kind: "acted", thread, ...(!isFirst && { unchanged: true }) };
}
