import { createWriteStream, existsSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { KeyspaceEntry, RedisDatabase } from "js-redis-server/core";
import { z } from "zod";
import { RedisUnavailable } from "../unavailable.ts";

/**
 * What the embedded server keeps on disk: one JSON line for each key. Bytes are written as latin1 text, which
 * holds any of them. Streams are left out: BullMQ's events are the only one, and nobody reads old ones.
 */
const base = { key: z.string(), expiresAt: z.number().optional() };
const lineSchema = z.discriminatedUnion("type", [
  z.object({ ...base, type: z.literal("string"), value: z.string() }),
  z.object({ ...base, type: z.literal("hash"), value: z.array(z.tuple([z.string(), z.string()])) }),
  z.object({ ...base, type: z.literal("list"), value: z.array(z.string()) }),
  z.object({ ...base, type: z.literal("set"), value: z.array(z.string()) }),
  // The score as text, since JSON has no infinity.
  z.object({ ...base, type: z.literal("zset"), value: z.array(z.tuple([z.string(), z.string()])) }),
]);
type Line = z.infer<typeof lineSchema>;

const text = (bytes: Buffer) => bytes.toString("latin1");
const bytes = (latin1: string) => Buffer.from(latin1, "latin1");

/** Replaces the file in one step: a crash leaves the old one or the new one. */
export async function saveSnapshot(database: RedisDatabase, file: string): Promise<void> {
  const lines = database
    .entriesSnapshot()
    .values()
    .map(lineOf)
    .filter((line) => line !== null);
  const temporary = `${file}.new`;
  await pipeline(
    Readable.from(lines.map((line) => `${JSON.stringify(line)}\n`)),
    createWriteStream(temporary, { mode: 0o600, flush: true }),
  );
  await rename(temporary, file);
}

function lineOf({ key, value, expiresAt }: KeyspaceEntry): Line | null {
  const head = { key: text(key), ...(expiresAt !== undefined && { expiresAt }) };
  switch (value.type) {
    case "string":
      return { ...head, type: value.type, value: text(value.value) };
    case "hash":
      return {
        ...head,
        type: value.type,
        value: [...value.fields.values()].map((f) => [text(f.field), text(f.value)]),
      };
    case "list":
      return { ...head, type: value.type, value: value.values.map(text) };
    case "set":
      return { ...head, type: value.type, value: [...value.members.values()].map(text) };
    case "zset":
      return {
        ...head,
        type: value.type,
        value: [...value.members.values()].map((m) => [text(m.member), String(m.score)]),
      };
    case "stream":
      break;
  }
  return null;
}

/**
 * Fills an empty database; a missing file is an empty snapshot.
 * @throws {RedisUnavailable} when the file is damaged.
 */
export async function loadSnapshot(database: RedisDatabase, file: string): Promise<void> {
  if (!existsSync(file)) return;
  const handle = await open(file);
  let number = 0;
  for await (const json of handle.readLines()) {
    number++;
    restore(database, parse(json, `${file}, line ${number}`));
  }
}

function parse(json: string, place: string): Line {
  try {
    return lineSchema.parse(JSON.parse(json));
  } catch {
    throw new RedisUnavailable(
      `The snapshot of the embedded Redis is damaged (${place}): move it away to start empty.`,
    );
  }
}

function restore(database: RedisDatabase, line: Line): void {
  const key = bytes(line.key);
  switch (line.type) {
    case "string":
      database.setString(key, bytes(line.value));
      break;
    case "hash":
      database.updateHash(key, (hash) =>
        line.value.forEach(([field, value]) => hash.setField(bytes(field), bytes(value))),
      );
      break;
    case "list":
      database.updateList(key, (list) => list.pushRight(line.value.map(bytes)));
      break;
    case "set":
      database.updateSet(key, (set) => line.value.forEach((member) => set.addMember(bytes(member))));
      break;
    case "zset":
      database.updateSortedSet(key, (zset) =>
        line.value.forEach(([member, score]) => zset.setScore(bytes(member), Number(score))),
      );
      break;
  }
  if (line.expiresAt !== undefined) database.expire(key, line.expiresAt);
}
