import type { Redis } from "ioredis";
import { z } from "zod";
import { agentEventOptions } from "../agent/event-schemas.ts";
import type { AgentEvent } from "../agent/events.ts";
import { createStoredParser } from "../agent/parse-stored.ts";
import { isDirect, parseThreadId, type ThreadId } from "../chat/threads.ts";
import { makeTitle } from "../chat/title.ts";
import type { LiveFeed } from "../queue/outbox/live-events.ts";
import { channels } from "../queue/redis/keys.ts";
import { continueActionId, readPausedTurn } from "../queue/session/continue-offer.ts";
import { readJournalSlice } from "../queue/session/journal.ts";
import { platformMessageId } from "../queue/session/message-changes.ts";
import { createOverview, type SessionLine } from "../queue/session/overview.ts";
import { createThreadCatalog } from "./thread-catalog.ts";
import type { Mask } from "./excerpt.ts";
import { channelId, readNames } from "./names.ts";
import type { ThreadIndex } from "./operations.ts";
import type { ThreadLine } from "./finding.ts";
import { collectFacets, filterThreads, queryThreads } from "./thread-query.ts";
import { searchSaid } from "./thread-search.ts";
import { buildTimeline, describeEnding, toTransientEvent } from "./timeline.ts";

const pageRecords = 60;
const titleChars = 100;

const parseLive = createStoredParser<AgentEvent | { type: "turn-start" | "turn-end" }>(
  z.discriminatedUnion("type", [
    ...agentEventOptions,
    z.looseObject({ type: z.literal(["turn-start", "turn-end"]) }),
  ]),
);

/** The threads of all platforms, as the console shows them. */
export function createThreadIndex(options: { redis: Redis; feed: LiveFeed; mask: Mask }): ThreadIndex & {
  close(): void;
} {
  const { redis, feed, mask } = options;
  const [overview, catalog, oneByOne] = [createOverview(redis), createThreadCatalog(redis), createQueue()];
  const endFollowing = feed.follow(channels.sessions, catalog.changed);

  const toLines = async (sessions: readonly SessionLine[]): Promise<ThreadLine[]> => {
    const places = sessions.map(({ thread }) => channelId(parseThreadId(thread)));
    const names = await readNames(redis, [...new Set(places)]);
    return sessions.map((session, index) => toLine(session, names.get(places[index] ?? "")));
  };

  /** Masking is the dearest part of a list. */
  const masked = new WeakMap<SessionLine, ThreadLine>();

  const toLine = (session: SessionLine, channel: string | undefined): ThreadLine => {
    const line = maskOnce(session);
    return channel === undefined ? line : { ...line, channel: mask(channel) };
  };

  const maskOnce = (session: SessionLine): ThreadLine => {
    const line = masked.get(session) ?? toMaskedLine(session, mask);
    masked.set(session, line);
    return line;
  };

  /** Who is asked for is the latest person: their message carries the mark of what goes on. */
  const readLastMessage = async (thread: ThreadId): Promise<string | undefined> => {
    for (let before: number | undefined; before !== 0; ) {
      const { records, from } = await readJournalSlice(redis, thread, { before }, pageRecords);
      const found = records.findLast((record) => record.type === "user");
      if (found) return platformMessageId(found.message.id);
      before = from;
    }
    return undefined;
  };

  return {
    async query(query) {
      const lines = await toLines(await catalog.lines());
      return { ...queryThreads(lines, query), facets: collectFacets(lines) };
    },
    search: ({ words = "", ...filter }, after) =>
      oneByOne(async () => {
        const all = (await catalog.lines()).filter(({ thread }) => !isDirect(parseThreadId(thread)));
        const lines = filterThreads(await toLines(all), filter);
        return searchSaid(redis, lines, { words, after }, mask, Date.now);
      }),
    async titles() {
      const lines = await catalog.lines();
      return new Map(lines.map((line) => [line.thread, maskOnce(line).title]));
    },
    async waiting(since) {
      const lines = await catalog.lines();
      return toLines(
        lines.filter(
          ({ status, questions, ended, activeAt, archived }) =>
            questions > 0 ||
            (status === "idle" &&
              ended &&
              describeEnding(ended) === "paused" &&
              activeAt >= since &&
              !archived),
        ),
      );
    },
    async find(thread) {
      const session = await overview.line(thread);
      return session && (await toLines([session]))[0];
    },
    async timeline(thread, where) {
      const { records, from, length } = await readJournalSlice(redis, thread, where, pageRecords);
      const [before] = from > 0 ? (await readJournalSlice(redis, thread, { from: from - 1 }, 1)).records : [];
      return { entries: buildTimeline(records, from, before, mask), from, length };
    },
    async paused(thread) {
      const paused = await readPausedTurn(redis, thread);
      const message = paused && (await readLastMessage(thread));
      if (!paused || message === undefined) return undefined;
      // With the turn, so that going on twice after the same message is not taken for one press.
      return { action: continueActionId(paused.turn), message: `${message}~${paused.turn}` };
    },
    close: endFollowing,
    watchAll: (onChange) => feed.follow(channels.sessions, () => onChange()),
    watch: (thread, onNews) =>
      feed.follow(channels.live(thread), (message) => {
        const event = message === null ? undefined : parseLive(message);
        // What a later Heddle tells may be in the journal.
        const news = event?.ok ? toTransientEvent(event.value, mask) : null;
        if (news !== undefined) onNews(news);
      }),
  };
}

function toMaskedLine(session: SessionLine, mask: Mask): ThreadLine {
  const { thread, text, author, status, questions, ended, activeAt, cost, unsaid } = session;
  const { limit, model, title, archived, place: queued } = session;
  const place = parseThreadId(thread);
  // Everybody who may open the list sees it; what was said there is not for all of them.
  const said = isDirect(place) ? "Direct message" : text;
  return {
    ...{ thread, activeAt, state: questions > 0 ? "asking" : status },
    platform: place.platform,
    author: mask(author),
    title: makeTitle(mask(title ?? said), titleChars),
    ...(archived && { archived }),
    ...(cost !== undefined && { cost }),
    ...(queued !== undefined && { place: queued }),
    ...(ended !== undefined && { ended: unsaid ? "failed" : describeEnding(ended) }),
    ...(limit !== undefined && { limit }),
    ...(model !== undefined && { model }),
  };
}

/** Runs what is asked for one after the other: searches share what one of them may cost. */
function createQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}
