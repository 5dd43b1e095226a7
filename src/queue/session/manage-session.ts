import type { Redis } from "ioredis";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import { daySeconds, keys } from "../redis/keys.ts";
import { isBranchOf } from "../stores/pull-requests.ts";
import { claimUnheldSession } from "./claim.ts";
import { readSessionStatus } from "./lists/sessions.ts";

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
const removedAtOnce = 100;
/** Workers of other hosts remove the workspace within this time, or when they are started again. */
const rememberedMs = 30 * 86_400_000;

/**
 * Deletes all that Redis has of a session: journal, snapshots, mailbox, notes, schedules, and what tells that messages
 * belong to it. The names of all keys are looked through once, in pieces, as some are known by nothing else.
 *
 * @returns false, and nothing is done, where a turn runs or messages wait
 */
export async function deleteSession(redis: Redis, thread: ThreadId, now: number): Promise<boolean> {
  if ((await readSessionStatus(redis, thread)) !== "idle") return false;
  // Who held it before writes no more.
  if (!(await claimUnheldSession(redis, thread, { expireSeconds: 3_600 }))) return false;
  await redis.zadd(keys.deleted, now, thread);
  await redis.zremrangebyscore(keys.deleted, "-inf", now - rememberedMs);
  await removeReferences(redis, thread);
  for (const node of primariesOf(redis)) {
    await eachKey(node, `heddle:{${escapeGlob(thread)}}:*`, (found) => node.unlink(...found));
    await eachKey(node, "heddle:{pull:*", (found) => removeBranches(node, found, thread));
  }
  await Promise.all([keys.threads, keys.waiting, keys.asking].map((list) => redis.zrem(list, thread)));
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
async function removeReferences(redis: Redis, thread: ThreadId): Promise<void> {
  const { platform, workspace, channel: place, thread: id } = parseThreadId(thread);
  // On some platforms a thread's messages are in a channel of its own.
  const near = [place, id].map((channel) => keys.reference({ platform, workspace, channel, message: "" }));
  const every = `${prefix}${escapeGlob(`${platform}:${workspace}:`)}*`;
  for (const node of primariesOf(redis)) {
    await eachKey(node, every, async (found) => {
      const nearby = found.filter((key) => near.some((beginning) => key.startsWith(beginning)));
      const threads = await Promise.all(nearby.map((key) => node.get(key)));
      const own = nearby.filter((_key, index) => threads[index] === thread);
      await Promise.all(own.flatMap((key) => listKeysOf(key).map((one) => redis.unlink(one))));
    });
  }
}

/** Of the message that is referred to under that key. */
function listKeysOf(key: string): string[] {
  const [platform = "", workspace = "", channel = "", ...message] = key.slice(prefix.length).split(":");
  const ref = { platform, workspace, channel, message: message.join(":") };
  return [key, keys.replied(ref), keys.marked(ref), keys.marking(ref)];
}

/** Which branches it has pushed: their names say whose they are only inside. */
async function removeBranches(node: Redis, found: readonly string[], thread: ThreadId): Promise<void> {
  for (const key of found) {
    const json = await node.get(key);
    if (json !== null && isBranchOf(json, thread)) await node.unlink(key);
  }
}

async function eachKey(
  node: Redis,
  pattern: string,
  act: (found: readonly string[]) => Promise<unknown>,
): Promise<void> {
  for (let cursor = "0"; ; ) {
    const [next, found] = await node.scan(cursor, "MATCH", pattern, "COUNT", scanned);
    for (let at = 0; at < found.length; at += removedAtOnce) await act(found.slice(at, at + removedAtOnce));
    cursor = next;
    if (cursor === "0") return;
  }
}

/** In a cluster each has keys of its own. */
function primariesOf(redis: Redis): Redis[] {
  // ioredis types a cluster's client apart, though it takes the same commands.
  return redis.isCluster ? (redis as unknown as { nodes(role: "master"): Redis[] }).nodes("master") : [redis];
}

function escapeGlob(text: string): string {
  return text.replaceAll(/[\\*?[\]^]/g, String.raw`\$&`);
}
