import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { AuditFact } from "./fact.ts";
import type { AuditKey } from "./key.ts";

/** The end of a chain: the number of its newest entry and that entry's hash. */
export interface Link {
  n: number;
  hash: string;
}

/** Before the first entry. */
export const genesis: Link = { n: 0, hash: "0".repeat(64) };

/**
 * A line of the log: a fact, its number and time (ms since the epoch), and the hashes that chain it. `mac` is the HMAC
 * of all but itself and `hash` under the key with the id `key`; a Heddle that had no key wrote neither.
 */
export type AuditEntry = AuditFact & Link & { at: number; before: string; key?: string; mac?: string };

const speaker = z.looseObject({ id: z.string(), name: z.string() });

/** The link, and of the fact what readers of every kind of entry use. */
const entrySchema = z.looseObject({
  n: z.int(),
  at: z.number(),
  before: z.string(),
  hash: z.string(),
  key: z.exactOptional(z.string()),
  mac: z.exactOptional(z.string()),
  what: z.string(),
  thread: z.exactOptional(z.string()),
  workspace: z.exactOptional(z.string()),
  by: z.exactOptional(z.union([z.string(), speaker])),
  asked: z.exactOptional(z.array(z.looseObject({ message: z.string(), by: speaker }))),
});

/** The fact as the line that follows `last`. */
export function appendLink(
  last: Link,
  fact: AuditFact,
  at: number,
  key?: AuditKey,
): { line: string; link: Link } {
  const plain = { ...fact, n: last.n + 1, at, before: last.hash, ...(key && { key: key.id }) };
  const content = { ...plain, ...(key && { mac: key.sign(canonicalize(plain)) }) };
  const hash = hashOf(content);
  return { line: JSON.stringify({ ...content, hash }), link: { n: content.n, hash } };
}

/** `unkeyed`: written by a Heddle without a key, or by anybody; `foreign`: keyed, but not with this key. */
export type Proof = "keyed" | "unkeyed" | "foreign" | "forged";

/** Who can have written the entry. */
export function proveEntry({ hash: _hash, mac, ...plain }: AuditEntry, key: AuditKey | undefined): Proof {
  if (mac === undefined) return "unkeyed";
  if (!key || plain.key !== key.id) return "foreign";
  const right = Buffer.from(key.sign(canonicalize(plain)));
  const found = Buffer.from(mac);
  return found.length === right.length && timingSafeEqual(found, right) ? "keyed" : "forged";
}

export type Followed = { ok: true; link: Link; entry: AuditEntry } | { ok: false; fault: string };

/** Whether this line is the one that was written after `last`. */
export function verifyLink(last: Link, line: string): Followed {
  const entry = parseEntry(line);
  if (!entry) return { ok: false, fault: `What follows entry ${last.n} is no entry.` };
  const { hash, ...content } = entry;
  if (hashOf(content) !== hash) return { ok: false, fault: `Entry ${entry.n} was changed.` };
  if (entry.n !== last.n + 1) {
    return { ok: false, fault: `Entry ${last.n} is followed by ${entry.n}: some are missing or moved.` };
  }
  if (entry.before !== last.hash) {
    return { ok: false, fault: `Entry ${entry.n} does not belong behind this entry ${last.n}.` };
  }
  return { ok: true, link: { n: entry.n, hash }, entry };
}

/** Undefined for a line that is no entry. Whether it is what Heddle has written, its hash tells. */
export function parseEntry(line: string): AuditEntry | undefined {
  try {
    const { success, data } = entrySchema.safeParse(JSON.parse(line));
    // Of each kind of fact only what readers use is looked at.
    return success ? (data as unknown as AuditEntry) : undefined;
  } catch {
    return undefined;
  }
}

/** SHA-256 of the value's canonical JSON: keys sorted, no blanks, numbers and strings as in RFC 8785. */
function hashOf(value: unknown): string {
  return createHash("sha256").update(canonicalize(value)).digest("hex");
}

function canonicalize(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalize).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter((entry) => entry[1] !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalize(member)}`);
  return `{${members.join(",")}}`;
}
