import { crc32 } from "node:zlib";
import { z } from "zod";
import { RedisUnavailable } from "../../unavailable.ts";

/**
 * What the embedded server writes down. The contract:
 *
 * - A record holds what one command, one transaction or one script left behind: not the command, but what its keys
 *   hold afterwards, so that neither the clock nor chance has a say when it is read again. Expiry is an absolute time.
 * - It is in the file before the command is answered, whole or not at all: a kill of the process loses nothing that
 *   was answered. The file is synced once a second, so a power loss takes at most what is younger.
 * - A line of the file is the CRC-32 of its JSON, a space, and that JSON. Bytes are latin1 text, which holds any.
 */
const base = { key: z.string() };
const whole = { op: z.literal("set"), ...base, expiresAt: z.number().optional() };
const fields = z.array(z.tuple([z.string(), z.string(), z.number().nullable()]));
// The score as text, since JSON has no infinity.
const scored = z.array(z.tuple([z.string(), z.string()]));
const entries = z.array(z.tuple([z.string(), z.array(z.string())]));
const streamState = { lastId: z.string(), added: z.number(), maxDeletedId: z.string() };

const valueSchema = z.discriminatedUnion("type", [
  z.object({ ...whole, type: z.literal("string"), value: z.string() }),
  z.object({ ...whole, type: z.literal("hash"), fields }),
  z.object({ ...whole, type: z.literal("list"), values: z.array(z.string()) }),
  z.object({ ...whole, type: z.literal("set"), members: z.array(z.string()) }),
  z.object({ ...whole, type: z.literal("zset"), scored }),
  z.object({ ...whole, type: z.literal("stream"), entries, ...streamState }),
]);

const effectSchema = z.discriminatedUnion("op", [
  valueSchema,
  z.object({ op: z.literal("delete"), ...base }),
  z.object({ op: z.literal("flush") }),
  /** Without a time the key stays for ever. */
  z.object({ op: z.literal("expire"), ...base, at: z.number().optional() }),
  z.object({ op: z.literal("hset"), ...base, fields }),
  z.object({ op: z.literal("hdel"), ...base, fields: z.array(z.string()) }),
  z.object({
    op: z.literal("splice"),
    ...base,
    at: z.number(),
    remove: z.number(),
    insert: z.array(z.string()),
  }),
  z.object({ op: z.literal("lrem"), ...base, count: z.number(), value: z.string() }),
  z.object({ op: z.literal("sadd"), ...base, members: z.array(z.string()) }),
  z.object({ op: z.literal("srem"), ...base, members: z.array(z.string()) }),
  z.object({ op: z.literal("zadd"), ...base, scored }),
  z.object({ op: z.literal("zrem"), ...base, members: z.array(z.string()) }),
  /** Entries went from the start, others came at the end. */
  z.object({ op: z.literal("xadd"), ...base, drop: z.number(), entries, ...streamState }),
]);

/** A whole value. Expiry is in milliseconds since 1970. */
export type ValueEffect = z.infer<typeof valueSchema>;
/** What happened to one key. */
export type Effect = z.infer<typeof effectSchema>;

const recordSchema = z.array(effectSchema);
const newline = 0x0a;

export function encodeRecord(effects: readonly Effect[]): Buffer {
  const json = Buffer.from(JSON.stringify(effects), "latin1");
  const sum = Buffer.from(`${crc32(json).toString(16).padStart(8, "0")} `, "latin1");
  return Buffer.concat([sum, json, Buffer.of(newline)]);
}

/**
 * @param line without its end
 * @returns undefined for anything but a whole record
 * @throws {RedisUnavailable} for a whole one that only another version understands
 */
export function decodeRecord(line: Buffer): Effect[] | undefined {
  const json = line.subarray(9);
  if (line[8] !== 0x20 || line.toString("latin1", 0, 8) !== crc32(json).toString(16).padStart(8, "0"))
    return undefined;
  const record = recordSchema.safeParse(JSON.parse(json.toString("latin1")));
  if (record.success) return record.data;
  throw new RedisUnavailable(
    "The embedded Redis's files hold a record that this Heddle does not know: start the newer one that wrote it.",
  );
}
