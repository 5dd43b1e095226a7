import type { Redis } from "ioredis";
import { z } from "zod";
import { agentEventOptions } from "../../agent/journal/event-schemas.ts";
import type { AgentEvent } from "../../agent/events.ts";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import { isDirect, parseThreadId, type ThreadId } from "../../chat/threads.ts";
import { makeTitle } from "../../chat/title.ts";
import type { LiveFeed } from "../../queue/outbox/live-events.ts";
import { channels } from "../../queue/redis/keys.ts";
import { continueActionId, readPausedTurn } from "../../queue/session/continue-offer.ts";
import { readJournalSlice } from "../../queue/session/journal/journal.ts";
import { platformMessageId } from "../../queue/session/mailbox/message-changes.ts";
import type { SessionLine } from "../../queue/session/lists/overview.ts";
import { createThreadCatalog, type KnownThreads } from "./thread-catalog.ts";
import type { Mask } from "../excerpt.ts";
import { channelIdOf, readNames } from "../names.ts";
import type { ThreadIndex } from "../operations.ts";
import type { ThreadLine } from "../finding.ts";
import { collectFacets, filterThreads, queryThreads } from "./thread-query.ts";
import { searchSaid } from "./thread-search.ts";
import { buildTimeline, describeEnding, toTransientEvent } from "../timeline/timeline.ts";

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
  const [catalog, oneByOne] = [createThreadCatalog(redis), createQueue()];
  const endFollowing = feed.follow(channels.sessions, catalog.changed);

  const toLines = async ({ lines, places }: KnownThreads): Promise<ThreadLine[]> => {
    const ids = lines.map(({ thread }) => channelIdOf(thread));
    const names = await readNames(redis, [...new Set(ids)]);
    const maskedNames = new Map([...names].map(([id, name]) => [id, mask(name)]));
    return lines.map((line, index) => {
      const [channel, place] = [maskedNames.get(ids[index] ?? ""), places.get(line.thread)];
      const more = { ...(channel !== undefined && { channel }), ...(place !== undefined && { place }) };
      return { ...maskOnce(line), ...more };
    });
  };

  /** Masking is the dearest part of a list. */
  const masked = new WeakMap<SessionLine, ThreadLine>();

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
      const lines = await toLines(await catalog.read());
      const page = queryThreads(lines, query);
      const isChanged = await catalog.confirm(page.lines.map(({ thread }) => thread));
      if (!isChanged) return { ...page, facets: collectFacets(lines) };
      const now = await toLines(await catalog.read());
      return { ...queryThreads(now, query), facets: collectFacets(now) };
    },
    search: ({ words = "", ...filter }, after) =>
      oneByOne(async () => {
        const { lines: all, places } = await catalog.read();
        const readable = all.filter(({ thread }) => !isDirect(parseThreadId(thread)));
        const lines = filterThreads(await toLines({ lines: readable, places }), filter);
        return searchSaid(redis, lines, { words, after }, mask, Date.now);
      }),
    async titles() {
      const { lines } = await catalog.read();
      return new Map(lines.map((line) => [line.thread, maskOnce(line).title]));
    },
    async waiting(since) {
      const { lines, places } = await catalog.read();
      const isWaiting = ({ status, questions, ended, activeAt, archived }: SessionLine) => {
        const isPaused = status === "idle" && ended !== undefined && describeEnding(ended) === "paused";
        return questions > 0 || (isPaused && activeAt >= since && !archived);
      };
      return toLines({ lines: lines.filter(isWaiting), places });
    },
    async find(thread) {
      const line = await catalog.find(thread);
      if (!line) return undefined;
      // Its place among the others that wait is nothing that it tells by itself.
      const places = line.status === "waiting" ? (await catalog.read()).places : new Map<string, number>();
      return (await toLines({ lines: [line], places }))[0];
    },
    async timeline(thread, where) {
      const { records, from, length } = await readJournalSlice(redis, thread, where, pageRecords);
      const [before] = from > 0 ? (await readJournalSlice(redis, thread, { from: from - 1 }, 1)).records : [];
      return { entries: await buildTimeline(records, from, before, mask), from, length };
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
  const { limit, model, title, archived } = session;
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
