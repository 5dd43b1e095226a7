import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { z } from "zod";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import { keys } from "../../queue/redis/keys.ts";
import { hasErrorCode } from "../../sandbox/system-error.ts";
import { type Link, parseEntry } from "./chain.ts";
import { readAuditHead } from "./log.ts";

/** What a gateway notes of the log outside Redis, where who can write to Redis cannot reach it. */
export interface Anchor {
  /** The head when the anchor was first written: what follows must be keyed. */
  since: Link;
  /** A recent head. */
  head: Link;
}

const linkSchema = z.looseObject({ n: z.int(), hash: z.string() });
const parseAnchor = createStoredParser<Anchor>(z.looseObject({ since: linkSchema, head: linkSchema }));

const pathOf = (folder: string) => join(folder, "anchor.json");

/** Undefined where no gateway has written one yet. */
export async function readAnchor(folder: string): Promise<Anchor | undefined> {
  try {
    const parsed = parseAnchor(await readFile(pathOf(folder), "utf8"));
    if (!parsed.ok) throw new Error(`${pathOf(folder)} cannot be read (${parsed.why}).`);
    return parsed.value;
  } catch (error) {
    if (hasErrorCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/**
 * Notes the head of the log in the folder. An anchor that the log in Redis contradicts stays as it is.
 *
 * @returns what contradicts it
 */
export async function noteAnchor(redis: Redis, folder: string): Promise<string | undefined> {
  const [head, anchor] = await Promise.all([readAuditHead(redis), readAnchor(folder)]);
  if (anchor) {
    const noted = anchor.head;
    if (head.n === noted.n && head.hash === noted.hash) return undefined;
    if (head.n < noted.n) return `The head of the audit log is entry ${head.n}, but it had ${noted.n}.`;
    const there = await redis.xrange(keys.audit, `${noted.n}-0`, `${noted.n}-0`);
    const entry = parseEntry(there[0]?.[1][1] ?? "");
    const hash = head.n === noted.n ? head.hash : (entry?.hash ?? noted.hash);
    if (hash !== noted.hash) return `Entry ${noted.n} of the audit log is not the one that was noted.`;
  }
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const part = `${pathOf(folder)}.${process.pid}.part`;
  const written = { v: 1, since: anchor?.since ?? head, head };
  await writeFile(part, `${JSON.stringify(written)}\n`, { mode: 0o600, flush: true });
  await rename(part, pathOf(folder));
  return undefined;
}
