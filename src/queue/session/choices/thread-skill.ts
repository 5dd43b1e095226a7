import type { Redis } from "ioredis";
import type { ThreadId } from "../../../chat/threads.ts";
import { keys } from "../../redis/keys.ts";

/** What the fields of the session's head say of the skill that was chosen for a thread with `!skill`. */
export function readThreadSkill(head: Readonly<Record<string, string>>): { skill?: string } {
  const { skill } = head;
  return skill ? { skill } : {};
}

/** The skill that is chosen for a thread; undefined when it has no session. */
export async function fetchThreadSkill(
  redis: Redis,
  thread: ThreadId,
): Promise<{ skill?: string } | undefined> {
  const key = keys.head(thread);
  const [exists, skill] = await Promise.all([redis.exists(key), redis.hget(key, "skill")]);
  return exists ? readThreadSkill(skill ? { skill } : {}) : undefined;
}

/** Chooses for a thread that has a session, in place of what was chosen before; undefined for none. */
export async function setThreadSkill(
  redis: Redis,
  thread: ThreadId,
  skill: string | undefined,
): Promise<void> {
  const key = keys.head(thread);
  await (skill === undefined ? redis.hdel(key, "skill") : redis.hset(key, "skill", skill));
}
