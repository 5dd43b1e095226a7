import { open } from "node:fs/promises";
import { z } from "zod";
import { RedisUnavailable } from "../../unavailable.ts";
import type { Store, StoredValue } from "./store.ts";

/** What the embedded server of an older Heddle kept: one JSON line for each key, bytes as latin1 text. */
const base = { key: z.string(), expiresAt: z.number().optional() };
const lineSchema = z.discriminatedUnion("type", [
  z.object({ ...base, type: z.literal("string"), value: z.string() }),
  z.object({ ...base, type: z.literal("hash"), value: z.array(z.tuple([z.string(), z.string()])) }),
  z.object({ ...base, type: z.literal("list"), value: z.array(z.string()) }),
  z.object({ ...base, type: z.literal("set"), value: z.array(z.string()) }),
  z.object({ ...base, type: z.literal("zset"), value: z.array(z.tuple([z.string(), z.string()])) }),
]);
type Line = z.infer<typeof lineSchema>;

/** @throws {RedisUnavailable} when the file is damaged */
export async function readOldSnapshot(file: string): Promise<Store> {
  const store: Store = new Map();
  const handle = await open(file);
  let number = 0;
  for await (const json of handle.readLines()) {
    number++;
    const line = parse(json, `${file}, line ${number}`);
    store.set(line.key, { value: valueOf(line), expiresAt: line.expiresAt });
  }
  return store;
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

function valueOf(line: Line): StoredValue {
  switch (line.type) {
    case "string":
      return { type: line.type, value: line.value };
    case "hash":
      return {
        type: line.type,
        fields: new Map(line.value.map(([field, value]) => [field, { value, expiresAt: null }])),
      };
    case "list":
      return { type: line.type, values: line.value };
    case "set":
      return { type: line.type, members: new Set(line.value) };
    case "zset":
      return { type: line.type, scores: new Map(line.value) };
  }
}
