import type { Redis } from "ioredis";
import { type Effort, efforts } from "../../../agent/model.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import { keys } from "../../redis/keys.ts";

/** What people have chosen for a thread with `!model`. */
export interface ThreadModel {
  model?: string;
  effort?: Effort;
}

/** What the fields of the session's head say; an effort of a later Heddle counts as none. */
export function readThreadModel(head: Readonly<Record<string, string>>): ThreadModel {
  const { model } = head;
  const effort = efforts.find((known) => known === head["effort"]);
  return { ...(model && { model }), ...(effort && { effort }) };
}

/** What is chosen for a thread; undefined when it has no session. */
export async function fetchThreadModel(redis: Redis, thread: ThreadId): Promise<ThreadModel | undefined> {
  const key = keys.head(thread);
  if (!(await redis.exists(key))) return undefined;
  const [model, effort] = await redis.hmget(key, "model", "effort");
  return readThreadModel({ ...(model && { model }), ...(effort && { effort }) });
}

/** Chooses for a thread that has a session, in place of what was chosen before. */
export async function setThreadModel(
  redis: Redis,
  thread: ThreadId,
  { model, effort }: ThreadModel,
): Promise<void> {
  const key = keys.head(thread);
  // One transaction: a turn that starts in between must not see the one without the other.
  const write = redis.multi().hdel(key, "model", "effort");
  if (model) write.hset(key, "model", model);
  if (effort) write.hset(key, "effort", effort);
  await write.exec();
}
