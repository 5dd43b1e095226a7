import type { Redis } from "ioredis";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import { channels, daySeconds, keys } from "../redis/keys.ts";
import { loadScript } from "../redis/script.ts";
import { isBranchOf } from "../stores/pull-requests.ts";
import { claimUnheldSession } from "./claim.ts";
import { readSessionStatus } from "./lists/sessions.ts";

const deleteScript = loadScript(new URL("scripts/delete-session.lua", import.meta.url));
const unlistScript = loadScript(new URL("scripts/unlist.lua", import.meta.url));

/** What people call the thread, and since when it is put away, ms; an empty text removes either. */
export interface SessionFacts {
  title?: string;
  archivedAt?: string;
}

/** Names a session, or puts it away: fields of its head, which no turn touches and which expire with it. */
export async function setSessionFacts(redis: Redis, thread: ThreadId, facts: SessionFacts): Promise<void> {
  const head = keys.head(thread);
  for (const [field, value] of Object.entries(facts)) {
    if (value) await redis.hset(head, field, value);
    else await redis.hdel(head, field);
  }
  // A session that no turn has claimed has no head so far, and nobody else lets this one expire.
  if ((await redis.ttl(head)) === -1) await redis.expire(head, unclaimedSeconds);
}

const unclaimedSeconds = 90 * daySeconds;
/** Names of keys that are looked at with one command. */
const scanned = 1_000;
/** Workers of other hosts remove the workspace within this time, or when they are started again. */
const rememberedMs = 30 * 86_400_000;

/**
 * Deletes all that Redis has of a session: journal, snapshots, mailbox, notes, schedules, and what tells that messages
 * belong to it. The names of all keys are looked through once, in pieces, as some are known by nothing else. What comes
 * meanwhile keeps the session, and what comes later begins a new one, of which nothing is deleted. Its background jobs are
 * ended by the workers that run them.
 *
 * @returns false, and nothing is done, where a turn runs or messages wait
 */
export async function deleteSession(redis: Redis, thread: ThreadId, now: number): Promise<boolean> {
  if ((await readSessionStatus(redis, thread)) !== "idle") return false;
  // Who held it before writes no more.
  const lease = await claimUnheldSession(redis, thread, { expireSeconds: 3_600 });
  if (!lease) return false;
  const lists = [keys.threads, keys.waiting, keys.asking];
  const listedSince = await Promise.all(lists.map((list) => redis.zscore(list, thread)));
  const references = await listReferences(redis, thread);
  const own = await listKeys(redis, `heddle:{${escapeGlob(thread)}}:*`);
  const scriptKeys = [...[keys.head, keys.mail, keys.jobs, keys.stop].map((key) => key(thread)), ...own];
  const args = [lease.claim.epoch, daySeconds, channels.stops, thread];
  if ((await deleteScript.run(redis, scriptKeys, args)) !== 1) return false;
  await redis.zadd(keys.deleted, now, thread);
  await redis.zremrangebyscore(keys.deleted, "-inf", now - rememberedMs);
  await Promise.all(references.map((key) => redis.unlink(key)));
  await removeBranches(redis, thread);
  await Promise.all(
    lists.map((list, index) => unlistScript.run(redis, [list], [thread, listedSince[index] ?? "", ""])),
  );
  return true;
}

/** The threads that were deleted in the last time, and when (ms), for those that have files of them. */
export async function listDeleted(redis: Redis): Promise<{ thread: ThreadId; at: number }[]> {
  const members = await redis.zrange(keys.deleted, "0", "-1", "WITHSCORES");
  return Array.from({ length: members.length / 2 }, (_, index) => ({
    thread: members[2 * index] ?? "",
    at: Number(members[2 * index + 1]),
  }));
}

const prefix = "heddle:ref:";

/** What tells that messages are of this thread: people's, and our own, of which no journal tells. */
async function listReferences(redis: Redis, thread: ThreadId): Promise<string[]> {
  const { platform, workspace, channel: place, thread: id } = parseThreadId(thread);
  // On some platforms a thread's messages are in a channel of its own.
  const near = [place, id].map((channel) => keys.reference({ platform, workspace, channel, message: "" }));
  const every = `${prefix}${escapeGlob(`${platform}:${workspace}:`)}*`;
  const own: string[] = [];
  for await (const { node, found } of scanKeys(redis, every)) {
    const nearby = found.filter((key) => near.some((beginning) => key.startsWith(beginning)));
    const threads = await Promise.all(nearby.map((key) => node.get(key)));
    own.push(...nearby.filter((_key, index) => threads[index] === thread).flatMap(listKeysOf));
  }
  return own;
}

/** Of the message that is referred to under that key. */
function listKeysOf(key: string): string[] {
  const [platform = "", workspace = "", channel = "", ...message] = key.slice(prefix.length).split(":");
  const ref = { platform, workspace, channel, message: message.join(":") };
  return [key, keys.replied(ref), keys.marked(ref), keys.marking(ref)];
}

/** Which branches it has pushed: their names say whose they are only inside. */
async function removeBranches(redis: Redis, thread: ThreadId): Promise<void> {
  for await (const { node, found } of scanKeys(redis, "heddle:{pull:*"))
    for (const key of found) {
      const json = await node.get(key);
      if (json !== null && isBranchOf(json, thread)) await node.unlink(key);
    }
}

async function listKeys(redis: Redis, pattern: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { found } of scanKeys(redis, pattern)) names.push(...found);
  return names;
}

/** The names of keys, in pieces, each with the node that has them: in a cluster each primary has keys of its own. */
async function* scanKeys(redis: Redis, pattern: string): AsyncGenerator<{ node: Redis; found: string[] }> {
  // ioredis types a cluster's client apart, though it takes the same commands.
  const nodes = redis.isCluster
    ? (redis as unknown as { nodes(role: "master"): Redis[] }).nodes("master")
    : [redis];
  for (const node of nodes) {
    let cursor = "0";
    do {
      const [next, found] = await node.scan(cursor, "MATCH", pattern, "COUNT", scanned);
      yield { node, found };
      cursor = next;
    } while (cursor !== "0");
  }
}

function escapeGlob(text: string): string {
  return text.replaceAll(/[\\*?[\]^]/g, String.raw`\$&`);
}
