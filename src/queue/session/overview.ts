import type { Redis } from "ioredis";
import type { TurnOutcome } from "../../agent/events.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { readFirstMessage, readLastRecord } from "./journal.ts";
import { readOpenQuestions } from "./open-questions.ts";
import { readHeadNumber } from "./stored.ts";
import { listSessions, readSessionStatus, type SessionSummary } from "./sessions.ts";

/** A session in a list of all of them. */
export interface SessionLine extends SessionSummary {
  /** Those that its turn has put to people. */
  questions: number;
  /** What it began with, as it was written, or the names of the files that it began with. */
  text: string;
  /** Who began it. */
  author: string;
  /** Of its turns that have ended, US dollars; absent for sessions older than this figure. */
  cost?: number;
  /** Among the threads that wait, 1 is the next. */
  place?: number;
  /** How the last turn ended, unless something has happened since. */
  ended?: TurnOutcome["kind"];
  /** The platform did not take what the last turn had to say. */
  unsaid?: true;
}

/** Looks at all sessions without claiming them. */
export interface Overview {
  /** The latest first, at most `limit`. */
  lines(limit: number): Promise<SessionLine[]>;
  line(thread: ThreadId): Promise<SessionLine | undefined>;
}

/** Of this many threads with something to do it is known which place they have. */
const mostPlaces = 1_000;
/** First messages never change, and may be long. */
const remembered = 2_000;
const textChars = 200;

type Beginning = Pick<SessionLine, "text" | "author">;

export function createOverview(redis: Redis): Overview {
  const beginnings = new Map<ThreadId, Beginning>();

  const beginningOf = async (thread: ThreadId): Promise<Beginning | undefined> => {
    const known = beginnings.get(thread);
    if (known) return known;
    const message = await readFirstMessage(redis, thread);
    if (!message) return undefined;
    const files = message.enclosed?.files?.map(({ name }) => name).join(", ") ?? "";
    const text = (message.text.trim() || files).slice(0, textChars);
    const oldest = beginnings.keys().next();
    if (beginnings.size >= remembered && !oldest.done) beginnings.delete(oldest.value);
    const beginning = { text, author: message.author.name };
    beginnings.set(thread, beginning);
    return beginning;
  };

  /** Undefined when nothing was written there, or all of it has expired. */
  const complete = async (
    session: SessionSummary,
    waiting: readonly ThreadId[],
  ): Promise<SessionLine | undefined> => {
    const { thread, status } = session;
    const beginning = await beginningOf(thread);
    if (!beginning) return undefined;
    const [cost, unsaid] = await redis.hmget(keys.head(thread), "cost", "unsaid");
    const place = status === "waiting" ? waiting.indexOf(thread) + 1 : 0;
    const record = status === "idle" ? await readLastRecord(redis, thread) : undefined;
    return {
      ...session,
      questions: status === "running" ? (await readOpenQuestions(redis, thread)).length : 0,
      ...beginning,
      ...(cost && { cost: readHeadNumber(redis, thread, "cost", cost) }),
      ...(place > 0 && { place }),
      ...(record && record.type === "turn-end" && { ended: record.outcome.kind }),
      ...(unsaid && { unsaid: true }),
    };
  };

  return {
    async lines(limit) {
      const sessions = await listSessions(redis, limit);
      const waiting = await waitingThreads(redis);
      const lines = await Promise.all(sessions.map((session) => complete(session, waiting)));
      return lines.filter((line) => line !== undefined);
    },
    async line(thread) {
      const activeAt = await redis.zscore(keys.threads, thread);
      if (activeAt === null) return undefined;
      const session = { thread, activeAt: Number(activeAt), status: await readSessionStatus(redis, thread) };
      return complete(session, session.status === "waiting" ? await waitingThreads(redis) : []);
    },
  };
}

/** Threads that have something to do and no turn, those first that have waited longest. */
async function waitingThreads(redis: Redis): Promise<ThreadId[]> {
  const listed = await redis.zrange(keys.waiting, "0", String(mostPlaces - 1));
  const states = await Promise.all(listed.map((thread) => readSessionStatus(redis, thread)));
  return listed.filter((_thread, index) => states[index] === "waiting");
}
