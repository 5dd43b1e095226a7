import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { ChainableCommander, Redis } from "ioredis";
import { bytes } from "./embedded/effects.ts";
import { listFiles, readStore } from "./embedded/files.ts";
import { readOldSnapshot } from "./embedded/old-snapshot.ts";
import type { Effect } from "./embedded/record.ts";
import { effectsOf, type Store } from "./embedded/store.ts";
import type { RedisLog, RedisServer } from "../server.ts";
import { type LocalRedisPaths, prepareLocalRedisPaths } from "./paths.ts";
import { isServed, withLock } from "./socket.ts";

/** Stands in the new server while it is being filled, and says how far that has come. */
const marker = "embedded-redis:adoption";
/** Keys to a round trip. */
const atOnce = 500;

/**
 * Moves what the embedded server kept into the real one that has taken its place, once: the files stay, under another
 * name. A server that holds something already is left alone. The caller holds the folder's lock.
 *
 * @param adopts false: it only tells what there is to move
 * @returns what the operator should know
 */
export async function adoptEmbeddedFiles(
  paths: Pick<LocalRedisPaths, "embeddedFiles" | "oldSnapshot" | "log">,
  redis: Redis,
  { name, adopts }: { name: string; adopts: boolean },
): Promise<string[]> {
  const { embeddedFiles, oldSnapshot, log } = paths;
  const { base, logs } = listFiles(embeddedFiles);
  const hasFiles = base !== undefined || logs.length > 0;
  const kept = [...(hasFiles ? [embeddedFiles] : []), ...(existsSync(oldSnapshot) ? [oldSnapshot] : [])];
  const [place] = kept;
  if (place === undefined) return [];
  const state = await redis.get(marker);
  if (state !== "moved") {
    // What an interrupted move wrote is written again.
    if (state === null && (await redis.dbsize()) > 0) {
      return [
        `${place} holds what the embedded Redis kept, and ${name} has content of its own, so neither is touched: remove the former if you do not need it; to go back to it, stop Heddle, empty ${name} (FLUSHDB) and start again, which moves it over.`,
      ];
    }
    if (!adopts) return [`${place} holds what the embedded Redis kept: the next start moves it to ${name}.`];
    const store = hasFiles ? readStore(embeddedFiles).store : await readOldSnapshot(oldSnapshot);
    await redis.set(marker, "begun");
    const count = await fill(redis, store);
    await redis.set(marker, "moved");
    log.info(`Moved ${count} keys of the embedded Redis to ${name}; its files stay as ${place}.moved.`);
  }
  if (!adopts) return [];
  for (const each of kept) await rename(each, freeName(`${each}.moved`));
  await redis.del(marker);
  return [];
}

/** The same for the server that REDIS_URL names. */
export async function adoptInto(
  server: RedisServer,
  { dataDir, adopts, log }: { dataDir: string; adopts: boolean; log: RedisLog },
): Promise<RedisServer> {
  const folder = join(resolve(dataDir), "redis");
  if (![join(folder, "embedded"), join(folder, "embedded.ndjson")].some((path) => existsSync(path)))
    return server;
  const paths = await prepareLocalRedisPaths(dataDir, log);
  const redis = server.connect();
  try {
    const warnings = await withLock(paths.lock, async () => {
      if (await isServed(paths.embedded))
        return [
          `An embedded Redis still runs in ${folder}: stop the Heddle that uses it and start again, and what it keeps is moved to ${server.describe}.`,
        ];
      if (redis.isCluster)
        return [
          `${folder} holds what the embedded Redis kept, which is not moved to a cluster: start once without REDIS_URL where valkey-server or redis-server is installed, and copy that server's keys; or remove the folder.`,
        ];
      return await adoptEmbeddedFiles(paths, redis, { name: server.describe, adopts });
    });
    return { ...server, warnings: [...server.warnings, ...warnings] };
  } finally {
    redis.disconnect();
  }
}

function freeName(name: string): string {
  let free = name;
  for (let n = 2; existsSync(free); n++) free = `${name}-${n}`;
  return free;
}

async function fill(redis: Redis, store: Store): Promise<number> {
  const now = Date.now();
  let pipeline = redis.pipeline();
  let count = 0;
  const flush = async () => {
    for (const [error] of (await pipeline.exec()) ?? []) {
      // Only newer servers know HPEXPIREAT; the others keep such a field for ever.
      if (error && !error.message.includes("unknown command")) throw error;
    }
    pipeline = redis.pipeline();
  };
  for (const [key, stored] of store) {
    const { value, expiresAt } = stored;
    if (expiresAt !== undefined && expiresAt <= now) continue;
    count++;
    pipeline.del(bytes(key));
    for (const effect of effectsOf(key, stored)) {
      send(pipeline, effect, now);
      if (pipeline.length >= atOnce) await flush();
    }
    if (value.type === "stream" && value.entries.length > 0)
      pipeline.call("XSETID", bytes(key), value.lastId);
    if (expiresAt !== undefined) pipeline.pexpireat(bytes(key), expiresAt);
  }
  await flush();
  return count;
}

/** The command that has this effect; those that only begin an empty value have none. */
function send(pipeline: ChainableCommander, effect: Effect, now: number): void {
  if (effect.op === "flush") return;
  const key = bytes(effect.key);
  switch (effect.op) {
    case "set":
      if (effect.type === "string") pipeline.set(key, bytes(effect.value));
      return;
    case "splice":
      pipeline.rpush(key, ...effect.insert.map(bytes));
      return;
    case "sadd":
      pipeline.sadd(key, ...effect.members.map(bytes));
      return;
    case "zadd":
      pipeline.zadd(key, ...effect.scored.flatMap(([member, score]) => [score, bytes(member)]));
      return;
    case "xadd":
      for (const [id, fields] of effect.entries) pipeline.xadd(key, id, ...fields.map(bytes));
      return;
    case "hset":
      for (const [field, value, expiresAt] of effect.fields) {
        if (expiresAt !== null && expiresAt <= now) continue;
        pipeline.hset(key, bytes(field), bytes(value));
        if (expiresAt !== null) pipeline.call("HPEXPIREAT", key, expiresAt, "FIELDS", 1, bytes(field));
      }
      return;
    default:
      return;
  }
}
