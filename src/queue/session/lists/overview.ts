import type { Redis } from "ioredis";
import { nameEnding, type TurnEnding } from "../../../agent/silence.ts";
import { cutWords } from "../../../agent/text/text.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import { keys } from "../../redis/keys.ts";
import { readFirstMessage, readJournalSlice } from "../journal/journal.ts";
import { readOpenQuestions } from "../questions/open-questions.ts";
import { readHeadNumber } from "../stored.ts";
import { listSessions, readSessionStatus, type SessionSummary } from "./sessions.ts";

/** A session, and when it was last active, ms since the epoch. */
type Listed = Omit<SessionSummary, "status">;

/** A session in a list of all of them. */
export interface SessionLine extends SessionSummary {
  /** Those that its turn has put to people. */
  questions: number;
  /** What it began with, as it was written, or the names of the files that it began with. */
  text: string;
  /** Who began it. */
  author: string;
  /** Of its turns, US dollars, of an open one so far; absent where none has been written. */
  cost?: number;
  /** Among the threads that wait, 1 is the next. */
  place?: number;
  /** How the last turn ended, unless something has happened since. */
  ended?: TurnEnding;
  /** The limit that has ended it. */
  limit?: string;
  /** `provider/model` of its newest reply, where that is among the last records. */
  model?: string;
  /** What people have called it. */
  title?: string;
  /** Put away, and nothing has happened since. */
  archived?: true;
  /** The platform did not take what the last turn had to say. */
  unsaid?: true;
}

/** Looks at all sessions without claiming them. */
export interface Overview {
  /** The latest first, at most `limit`. */
  lines(limit: number): Promise<SessionLine[]>;
  line(thread: ThreadId): Promise<SessionLine | undefined>;
  /**
   * The same for some sessions, in their order, but without `place`, which needs a look at others; undefined for those
   * of which nothing is left.
   */
  describe(sessions: readonly Listed[]): Promise<(SessionLine | undefined)[]>;
}

/** Of this many threads with something to do it is known which place they have. */
const mostPlaces = 1_000;
/** First messages never change, and may be long. */
const remembered = 2_000;
const textChars = 200;
/** A turn ends with a reply, its record, and perhaps a notice. */
const lastRecords = 4;

type Beginning = Pick<SessionLine, "text" | "author">;

export function createOverview(redis: Redis): Overview {
  const beginnings = new Map<ThreadId, Beginning>();

  const beginningOf = async (thread: ThreadId): Promise<Beginning | undefined> => {
    const known = beginnings.get(thread);
    if (known) return known;
    const message = await readFirstMessage(redis, thread);
    if (!message) return undefined;
    const files = message.enclosed?.files?.map(({ name }) => name).join(", ") ?? "";
    const text = cutWords(message.text.trim() || files, textChars);
    const oldest = beginnings.keys().next();
    if (beginnings.size >= remembered && !oldest.done) beginnings.delete(oldest.value);
    const beginning = { text, author: message.author.name };
    beginnings.set(thread, beginning);
    return beginning;
  };

  /** Undefined when nothing was written there, or all of it has expired. */
  const describe = async (listed: Listed): Promise<SessionLine | undefined> => {
    const { thread } = listed;
    const [status, begun, facts] = await Promise.all([
      readSessionStatus(redis, thread),
      beginningOf(thread),
      readFacts(redis, listed),
    ]);
    const { forked, ...told } = facts;
    const beginning = forked ?? begun;
    if (!beginning) return undefined;
    const { records } = await readJournalSlice(redis, thread, {}, lastRecords);
    const end = status === "idle" ? records.at(-1) : undefined;
    const outcome = end?.type === "turn-end" ? end.outcome : undefined;
    const reply = records.findLast((record) => record.type === "assistant");
    return {
      ...{ thread, activeAt: listed.activeAt, status },
      questions: status === "running" ? (await readOpenQuestions(redis, thread)).length : 0,
      ...beginning,
      ...told,
      ...(outcome && { ended: nameEnding(outcome) }),
      ...(outcome && "limit" in outcome && { limit: outcome.limit }),
      ...(reply && { model: reply.message.model }),
    };
  };

  const describeAll = (sessions: readonly Listed[]) => Promise.all(sessions.map(describe));

  const withPlaces = async (sessions: readonly Listed[]): Promise<SessionLine[]> => {
    const lines = (await describeAll(sessions)).filter((line) => line !== undefined);
    if (!lines.some(({ status }) => status === "waiting")) return lines;
    const listed = await listThreadsToDo(redis);
    const states = await Promise.all(listed.map((thread) => readSessionStatus(redis, thread)));
    const places = placesOf(listed.filter((_thread, index) => states[index] === "waiting"));
    return lines.map((line) => {
      const place = line.status === "waiting" ? places.get(line.thread) : undefined;
      return place === undefined ? line : { ...line, place };
    });
  };

  return {
    describe: describeAll,
    lines: async (limit) => withPlaces(await listSessions(redis, limit)),
    async line(thread) {
      const activeAt = await redis.zscore(keys.threads, thread);
      if (activeAt === null) return undefined;
      return (await withPlaces([{ thread, activeAt: Number(activeAt) }]))[0];
    },
  };
}

/** What the head tells of a session as a whole. */
async function readFacts(redis: Redis, { thread, activeAt }: Listed) {
  const fields = ["cost", "turnCost", "unsaid", "title", "archivedAt", "forkTitle", "forkedBy"] as const;
  const stored = await redis.hmget(keys.head(thread), ...fields);
  const [cost, turnCost, unsaid, title, archivedAt, forkTitle, forkedBy] = stored;
  // Of a fork its own journal does not have what it began with.
  const forked: Beginning | undefined = forkTitle ? { text: forkTitle, author: forkedBy ?? "" } : undefined;
  return {
    ...(forked && { forked }),
    ...((cost || turnCost) && {
      cost: readHeadNumber(redis, thread, "cost", cost) + readHeadNumber(redis, thread, "turnCost", turnCost),
    }),
    ...(unsaid && { unsaid: true as const }),
    ...(title && { title }),
    ...(archivedAt && activeAt <= Number(archivedAt) && { archived: true as const }),
  };
}

/** The first threads that have something to do, or a turn that does it, those that were listed first at the front. */
export function listThreadsToDo(redis: Redis): Promise<ThreadId[]> {
  return redis.zrange(keys.waiting, "0", String(mostPlaces - 1));
}

/** Where each thread of a queue stands in it, counted from 1. */
export function placesOf(queue: readonly ThreadId[]): ReadonlyMap<ThreadId, number> {
  return new Map(queue.map((thread, index) => [thread, index + 1]));
}
