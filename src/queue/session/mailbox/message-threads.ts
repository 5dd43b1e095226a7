import type { Redis } from "ioredis";
import type { MessageRef, ThreadId } from "../../../chat/threads.ts";
import { failpoint } from "../../redis/failpoint.ts";
import { daySeconds, keys } from "../../redis/keys.ts";

/** How long a reaction on an old message still finds its thread. */
const referenceSeconds = 30 * daySeconds;

/** Remembers which thread a message belongs to. */
export async function rememberMessages(
  redis: Redis,
  thread: ThreadId,
  refs: readonly MessageRef[],
): Promise<void> {
  await failpoint("remember", () =>
    Promise.all(refs.map((ref) => redis.set(keys.reference(ref), thread, "EX", referenceSeconds))),
  );
}

export async function findThreadOfMessage(redis: Redis, ref: MessageRef): Promise<ThreadId | undefined> {
  return (await redis.get(keys.reference(ref))) ?? undefined;
}
