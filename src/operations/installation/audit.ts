import type { Redis } from "ioredis";
import { parseThreadId, type ThreadId, threadId } from "../../chat/threads.ts";
import type { AuditEntry } from "../../telemetry/audit/chain.ts";
import { readLatestEntries } from "../../telemetry/audit/files.ts";
import { readPeople } from "../../telemetry/audit/people.ts";
import { createAuditFilter, listPeople } from "./audit-filter.ts";
import { makeExcerpt, type Mask } from "../excerpt.ts";
import { channelId, readNames } from "../names.ts";
import type { AuditLine, AuditPage, AuditQuery } from "../finding.ts";
import type { ThreadIndex } from "../operations.ts";

const pageEntries = 100;
const restChars = 600;
/** One request looks at no more entries, and at so many with one look at the log. */
const mostLooked = 20_000;
const lookedAtOnce = 2_000;
/** Entries are in the order in which they were written: processes keep what Redis does not take, and clocks differ. */
const mostLateMs = 60 * 60 * 1000;

/** The newest entries of the audit log that are asked for; where few are, it looks back no further than its bound. */
export async function reportAudit(
  { redis, folder, mask, threads, mayRead }: AuditSource,
  query: AuditQuery,
): Promise<AuditPage> {
  const { entries, before } = await findEntries(redis, folder, query, mask);
  const places = entries.map((entry) => ("thread" in entry ? parseThreadId(entry.thread) : undefined));
  const ids = places.flatMap((place) => (place ? [channelId(place)] : []));
  const [names, titles] = await Promise.all([readNames(redis, [...new Set(ids)]), threads.titles()]);
  const lines = entries.map((entry, index) => {
    const place = places[index];
    const channel = place && (names.get(channelId(place)) ?? place.channel);
    const title = place && titles.get(threadId(place));
    const shown = tellsOfContent(entry) && !mayRead(entry.thread) ? withoutContent(entry) : entry;
    return { ...toLine(shown, placeName(place?.platform, channel), mask), ...(title && { title }) };
  });
  return { lines, ...(before !== undefined && { before }) };
}

interface AuditSource {
  redis: Redis;
  folder: string;
  mask: Mask;
  threads: Pick<ThreadIndex, "titles">;
  mayRead(thread: ThreadId): boolean;
}

async function findEntries(
  redis: Redis,
  folder: string,
  query: AuditQuery,
  mask: Mask,
): Promise<{ entries: AuditEntry[]; before?: number }> {
  const wants = createAuditFilter(query, mask);
  const isFiltered = Object.entries(query).some(([name, value]) => name !== "before" && value !== undefined);
  const people = await readPeople(redis);
  const atOnce = isFiltered ? lookedAtOnce : pageEntries;
  const entries: AuditEntry[] = [];
  let before = query.before ?? Number.MAX_SAFE_INTEGER;
  for (let looked = 0; looked < mostLooked; looked += atOnce) {
    const { entries: some, next } = await readLatestEntries(redis, folder, before, atOnce);
    for (const entry of some.map(people.open)) {
      if (entry.at < (query.since ?? 0) - mostLateMs) return { entries };
      before = entry.n;
      if (wants(entry)) entries.push(entry);
      if (entries.length === pageEntries) return { entries, ...(before > 1 && { before }) };
    }
    if (next === undefined) return { entries };
    before = next;
  }
  return { entries, ...(before > 1 && { before }) };
}

/** What of an entry is taken from what was said and done in a thread. */
const contentNames = ["arguments", "rules"];

function tellsOfContent(entry: AuditEntry): entry is AuditEntry & { thread: ThreadId } {
  return "thread" in entry && contentNames.some((name) => name in entry);
}

function withoutContent<Entry extends AuditEntry>(entry: Entry): Entry {
  const hidden = Object.entries(entry).map(([name, value]) =>
    contentNames.includes(name) ? [name, "(of a direct message)"] : [name, value],
  );
  // Each field keeps its name, and all of them become text.
  return Object.fromEntries(hidden) as Entry;
}

const idNames = new Set(["turn", "call", "sha256", "message"]);

function toLine(entry: AuditEntry, place: string, mask: Mask): AuditLine {
  const { n, at, what, before: _before, hash: _hash, key: _key, mac: _mac, ...rest } = entry;
  const { by: _by, thread, asked, ...others } = { by: "", thread: "", asked: [], ...rest };
  const messages = asked.map(({ message, scheduled }): [string, unknown] => [
    scheduled ? "scheduled" : "message",
    message,
  ]);
  const [ids, told] = [true, false].map((isId) =>
    Object.entries(others).filter(([name]) => idNames.has(name) === isId),
  );
  const words = (told ?? []).map(([name, value]) => `${name}: ${toText(value)}`);
  return {
    ...{ n, at, what, thread, place: mask(place) },
    by: mask(listPeople(entry).join(", ")),
    rest: makeExcerpt(words.join(" · "), mask, restChars),
    ids: [...messages, ...(ids ?? [])].map(([name, value]) => ({ name, value: mask(toText(value)) })),
  };
}

function toText(value: unknown): string {
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** As on the other pages: the console has one place only. */
function placeName(platform: string | undefined, channel: string | undefined): string {
  if (!platform) return "";
  return platform === "local" ? "console" : `${platform} · ${channel}`;
}
