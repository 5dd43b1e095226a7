import type { Redis } from "ioredis";
import { z } from "zod";
import { daySeconds, keys } from "./keys.ts";
import { createStoredParser, type StoredParser } from "../../agent/text/parse-stored.ts";

/**
 * Whoever reads from Redis what cannot be read leaves it where it is and goes on without it. That this has happened is
 * an event of the connection, so that every reader can tell of it, and whoever opened the connection hears of all.
 */
const event = "unreadable";

/** @param place where it lies, such as `Record 17 of the journal of slack:T1:C1:1` */
export function reportUnreadable(redis: Redis, place: string, why: string): void {
  redis.emit(event, place, why);
}

/** The value, or undefined for one that cannot be read; that is reported. */
export function readStored<T>(
  redis: Redis,
  parse: StoredParser<T>,
  json: string,
  place: string,
): T | undefined {
  const parsed = parse(json);
  if (parsed.ok) return parsed.value;
  reportUnreadable(redis, place, parsed.why);
  return undefined;
}

/** More places than this are not remembered; the log has all of them. */
const mostPlaces = 200;
const keptSeconds = 7 * daySeconds;

const noticeSchema = z.looseObject({ why: z.string(), at: z.number() });
const parseNotice = createStoredParser(noticeSchema);

/** Writes each place once to the log, and notes it for `heddle doctor` and the console's System page. */
export function watchUnreadable(
  redis: Redis,
  options: { warn(text: string): void; now(): number; onError(error: unknown): void },
): void {
  const told = new Set<string>();
  const note = async (place: string, why: string) => {
    if ((await redis.hlen(keys.unreadable)) >= mostPlaces) return;
    const notice: z.infer<typeof noticeSchema> = { why, at: options.now() };
    await redis
      .multi()
      .hset(keys.unreadable, place, JSON.stringify(notice))
      .expire(keys.unreadable, keptSeconds)
      .exec();
  };
  redis.on(event, (place: string, why: string) => {
    if (told.has(place)) return;
    if (told.size >= mostPlaces) told.clear();
    told.add(place);
    options.warn(describe(place, why));
    note(place, why).catch(options.onError);
  });
}

/** What has been found unreadable in the last week, one sentence each, the latest first. */
export async function listUnreadable(redis: Redis): Promise<string[]> {
  const found = Object.entries(await redis.hgetall(keys.unreadable)).flatMap(([place, json]) => {
    const notice = parseNotice(json);
    return notice.ok ? [{ place, ...notice.value }] : [];
  });
  return found
    .toSorted((a, b) => b.at - a.at)
    .map(({ place, why, at }) => `${describe(place, why)} Last seen ${new Date(at).toISOString()}.`);
}

function describe(place: string, why: string): string {
  return `${place} cannot be read (${why}): it is kept and left out.`;
}
