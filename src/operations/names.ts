import type { Redis } from "ioredis";
import type { Author } from "../chat/inbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import { parseThreadId, type ThreadId, type ThreadRef } from "../chat/threads.ts";
import { daySeconds, keys } from "../queue/redis/keys.ts";

/** A channel or a person. */
type NamedId = `${string}:${string}:${string}`;

/** Nobody is named for longer than this after the last time that anybody was, in seconds. */
const keptSeconds = 90 * daySeconds;
/** So many are remembered as told. */
const capacity = 10_000;
/** So many names are kept. Of more, any make room: who is not named is shown by id until something is heard of them. */
const mostNames = 20_000;

/**
 * Remembers what people and channels are called, for whoever looks at their ids later. A platform is asked for the
 * name of a channel once by each process that hears something there, never because somebody looks.
 */
export function createNameCache(redis: Redis, surface: (platform: string) => ChatSurface) {
  const told = new Set<string>();
  const isNews = (fact: string): boolean => {
    if (told.has(fact)) return false;
    if (told.size >= capacity) told.clear();
    told.add(fact);
    return true;
  };
  const store = async (id: NamedId, name: string | undefined): Promise<void> => {
    if (!name) return;
    await redis.multi().hset(keys.names, id, name).expire(keys.names, keptSeconds).exec();
    if ((await redis.hlen(keys.names)) <= mostNames) return;
    const [, some] = await redis.hscan(keys.names, 0, "COUNT", 100);
    const others = some.filter((field, index) => index % 2 === 0 && field !== id);
    if (others.length > 0) await redis.hdel(keys.names, ...others);
  };
  return {
    async recordNames(id: ThreadId, author: Author): Promise<void> {
      const thread = parseThreadId(id);
      const { platform, workspace } = thread;
      const [person, channel] = [`${platform}:${workspace}:${author.id}` as const, channelId(thread)];
      if (isNews(`${person} ${author.name}`)) await store(person, author.name);
      if (isNews(channel)) await store(channel, await surface(platform).channelName?.(thread));
    },
  };
}

export function channelId({ platform, workspace, channel }: ThreadRef): NamedId {
  return `${platform}:${workspace}:${channel}`;
}

/** Of a thread's channel; lists ask for thousands at once, so nothing is taken apart for it. */
export function channelIdOf(thread: ThreadId): string {
  // No part has a colon.
  return thread.slice(0, thread.lastIndexOf(":"));
}

/** The names that are known of these, with the workspace where the same name is known in several. */
export async function readNames(redis: Redis, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const found = await redis.hmget(keys.names, ...ids);
  const names = new Map(ids.flatMap((id, index) => (found[index] ? [[id, found[index]]] : [])));
  const places = new Map<string, Set<string>>();
  for (const [id, name] of names) places.set(name, (places.get(name) ?? new Set()).add(workspaceOf(id)));
  return new Map(
    [...names].map(([id, name]) => {
      const isUnique = (places.get(name)?.size ?? 0) < 2;
      return [id, isUnique ? name : `${name} (${workspaceOf(id)})`];
    }),
  );
}

/** `slack:T012345`, of the id of a channel or a person. */
function workspaceOf(id: string): string {
  return id.split(":").slice(0, 2).join(":");
}
