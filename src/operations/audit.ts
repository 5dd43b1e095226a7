import type { Redis } from "ioredis";
import { parseThreadId } from "../chat/threads.ts";
import type { AuditEntry } from "../telemetry/audit/chain.ts";
import { readLatestEntries } from "../telemetry/audit/files.ts";
import { makeExcerpt, type Mask } from "./excerpt.ts";
import { channelId, readNames } from "./names.ts";
import type { AuditLine } from "./operations.ts";

const pageEntries = 100;
const restChars = 600;

/** The newest entries of the audit log, or those before number `before`. */
export async function reportAudit(
  redis: Redis,
  folder: string,
  mask: Mask,
  before = Number.MAX_SAFE_INTEGER,
): Promise<AuditLine[]> {
  const entries = await readLatestEntries(redis, folder, before, pageEntries);
  const places = entries.map((entry) => ("thread" in entry ? parseThreadId(entry.thread) : undefined));
  const names = await readNames(
    redis,
    places.flatMap((place) => (place ? [channelId(place)] : [])),
  );
  return entries.map((entry, index) => {
    const place = places[index];
    const channel = place && (names.get(channelId(place)) ?? place.channel);
    return toLine(entry, placeName(place?.platform, channel), mask);
  });
}

function toLine(entry: AuditEntry, place: string, mask: Mask): AuditLine {
  const { n, at, what, before: _before, hash: _hash, key: _key, mac: _mac, ...rest } = entry;
  const { by, thread, asked, ...others } = { by: "", thread: "", asked: [], ...rest };
  const people = new Set([
    ...(typeof by === "string" ? [by] : [by.name]),
    ...asked.map((one) => one.by.name),
  ]);
  const messages = asked.map(
    ({ message, scheduled }) => `${scheduled ? "scheduled" : "message"}: ${message}`,
  );
  const words = [...Object.entries(others).map(([name, value]) => `${name}: ${value}`), ...messages];
  return {
    ...{ n, at, what, thread, place: mask(place) },
    by: mask([...people].filter(Boolean).join(", ")),
    rest: makeExcerpt(words.join(" · "), mask, restChars),
  };
}

/** As on the other pages: the console has one place only. */
function placeName(platform: string | undefined, channel: string | undefined): string {
  if (!platform) return "";
  return platform === "local" ? "console" : `${platform} · ${channel}`;
}
