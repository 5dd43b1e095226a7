import type { Redis } from "ioredis";
import type { AuditLine } from "../adapters/local/operations.ts";
import type { AuditEntry } from "../telemetry/audit/chain.ts";
import { latestEntries } from "../telemetry/audit/files.ts";
import { parseThreadId } from "../adapters/adapter.ts";
import { excerpt, type Mask } from "./excerpt.ts";
import { channelId, namesOf } from "./names.ts";

const pageEntries = 100;
const restChars = 600;

/** The newest entries of the audit log, or those before number `before`. */
export async function reportAudit(
  redis: Redis,
  folder: string,
  mask: Mask,
  before = Number.MAX_SAFE_INTEGER,
): Promise<AuditLine[]> {
  const entries = await latestEntries(redis, folder, before, pageEntries);
  const places = entries.map((entry) => ("thread" in entry ? parseThreadId(entry.thread) : undefined));
  const names = await namesOf(
    redis,
    places.flatMap((place) => (place ? [channelId(place)] : [])),
  );
  return entries.map((entry, index) => {
    const place = places[index];
    const channel = place && (names.get(channelId(place)) ?? place.channel);
    return lineOf(entry, place ? `${place.platform} · ${channel}` : "", mask);
  });
}

function lineOf(entry: AuditEntry, place: string, mask: Mask): AuditLine {
  const { n, at, what, before: _before, hash: _hash, ...rest } = entry;
  const { by, thread, ...others } = { by: "", thread: "", ...rest };
  const words = Object.entries(others).map(([name, value]) => `${name}: ${wordOf(value)}`);
  return {
    ...{ n, at, what, thread, place: mask(place) },
    by: mask(typeof by === "string" ? by : by.name),
    rest: excerpt(words.join(" · "), mask, restChars),
  };
}

function wordOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
