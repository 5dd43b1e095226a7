import type { Redis } from "ioredis";
import type { AuditLine } from "../adapters/local/operations.ts";
import type { AuditEntry } from "../telemetry/audit/chain.ts";
import { latestEntries } from "../telemetry/audit/files.ts";
import { excerpt, type Mask } from "./excerpt.ts";

const pageEntries = 100;
const restChars = 600;

/** The newest entries of the audit log, or those before number `before`. */
export async function reportAudit(
  redis: Redis,
  folder: string,
  mask: Mask,
  before = Number.MAX_SAFE_INTEGER,
): Promise<AuditLine[]> {
  return (await latestEntries(redis, folder, before, pageEntries)).map((entry) => lineOf(entry, mask));
}

function lineOf(entry: AuditEntry, mask: Mask): AuditLine {
  const { n, at, what, before: _before, hash: _hash, ...rest } = entry;
  const { by, thread, ...others } = { by: "", thread: "", ...rest };
  const words = Object.entries(others).map(([name, value]) => `${name}: ${wordOf(value)}`);
  return {
    ...{ n, at, what, thread },
    by: mask(typeof by === "string" ? by : by.name),
    rest: excerpt(words.join(" · "), mask, restChars),
  };
}

function wordOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
