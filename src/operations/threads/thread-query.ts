import { foldText } from "../../agent/text/text.ts";
import { parseThreadId } from "../../chat/threads.ts";
import { channelIdOf } from "../names.ts";
import type { ThreadFacets, ThreadPage, ThreadQuery } from "../finding.ts";
import type { ThreadLine } from "../finding.ts";

/** Of people, channels and models so many are offered, those first that have the most threads. */
const mostOffered = 200;

type Filter = Omit<ThreadQuery, "sort" | "offset" | "limit">;

/** The threads that a query asks for, and what they are together. */
export function queryThreads(lines: readonly ThreadLine[], query: ThreadQuery): ThreadPage {
  const { sort = "newest", offset = 0, limit } = query;
  const found = filterThreads(lines, query);
  const inState = (state: ThreadLine["state"]) => found.filter((line) => line.state === state).length;
  return {
    lines: found.toSorted(orders[sort]).slice(offset, offset + limit),
    offset,
    found: found.length,
    all: query.state === "archived" ? lines.length : lines.filter(({ archived }) => !archived).length,
    totals: {
      cost: found.reduce((sum, { cost = 0 }) => sum + cost, 0),
      running: inState("running"),
      asking: inState("asking"),
      waiting: inState("waiting"),
    },
  };
}

/** In the order of `lines`. */
export function filterThreads(lines: readonly ThreadLine[], filter: Filter): ThreadLine[] {
  const words = splitWords(filter.words ?? "");
  return lines.filter((line) => matches(line, filter) && hasWords(line, words));
}

/** What a text is searched for: each of these has to be in it. */
export function splitWords(text: string): string[] {
  return foldText(text).split(/\s+/).filter(Boolean);
}

/** What there is to filter by. */
export function collectFacets(lines: readonly ThreadLine[]): ThreadFacets {
  const channels = new Map(lines.map((line) => [channelIdOf(line.thread), line]));
  return {
    platforms: offer(lines.map(({ platform }) => platform)),
    channels: offer(lines.map(({ thread }) => channelIdOf(thread))).map((id) => {
      const { platform = "", channel, thread } = channels.get(id) ?? { thread: `${id}:?` };
      return { id, name: platform === "local" ? "console" : (channel ?? parseThreadId(thread).channel) };
    }),
    people: offer(lines.map(({ author }) => author)),
    models: offer(lines.flatMap(({ model }) => model ?? [])),
  };
}

const orders: Record<NonNullable<ThreadQuery["sort"]>, (a: ThreadLine, b: ThreadLine) => number> = {
  newest: (a, b) => b.activeAt - a.activeAt,
  oldest: (a, b) => a.activeAt - b.activeAt,
  cost: (a, b) => (b.cost ?? 0) - (a.cost ?? 0) || b.activeAt - a.activeAt,
};

function matches(line: ThreadLine, filter: Filter): boolean {
  const { state, platform, channel, person, model, since, until, minCost } = filter;
  return (
    isInState(line, state) &&
    isSame(platform, line.platform) &&
    isSame(person, line.author) &&
    isSame(model, line.model) &&
    isSame(channel, channelIdOf(line.thread)) &&
    line.activeAt >= (since ?? 0) &&
    line.activeAt < (until ?? Infinity) &&
    (line.cost ?? 0) >= (minCost ?? 0)
  );
}

function isSame(wanted: string | undefined, value: string | undefined): boolean {
  return wanted === undefined || wanted === value;
}

function isInState({ state, ended, archived }: ThreadLine, wanted: Filter["state"]): boolean {
  if (archived || wanted === "archived") return archived === true && wanted === "archived";
  switch (wanted) {
    case undefined:
      return true;
    case "running":
    case "asking":
    case "waiting":
      return state === wanted;
    case "failed":
      return state === "idle" && (ended === "failed" || ended === "refused");
    case "paused":
    case "answered":
    case "silent":
    case "stopped":
      return state === "idle" && ended === wanted;
  }
}

function hasWords(line: ThreadLine, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const { platform, channel = "", author, title, thread } = line;
  const place = platform === "local" ? "console" : platform;
  const text = foldText(`${title} ${thread} ${place} ${channel} ${author}`);
  return words.every((word) => text.includes(word));
}

/** Each once, the most frequent first. */
function offer(values: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, mostOffered)
    .map(([value]) => value);
}
