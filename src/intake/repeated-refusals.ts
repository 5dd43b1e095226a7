import type { Redis } from "ioredis";
import type { InboundEvent } from "../chat/inbound.ts";
import type { MessageRef } from "../chat/threads.ts";
import { keys } from "../queue/redis/keys.ts";
import { isOutOfMemory } from "../queue/redis/out-of-memory.ts";

/** For how long another delivery of a refused event counts as the same refusal. */
const refusedSeconds = 600;

/**
 * Records that an event was refused. False when it was before: Slack delivers a mention twice, and with several
 * gateways each of them receives it.
 */
export async function markRefused(redis: Redis, event: InboundEvent): Promise<boolean> {
  const { message, ...place } = identifyEvent(event);
  const key = keys.replied({ ...place, message: `refused~${event.author.id}~${message}` });
  try {
    return (await redis.set(key, "1", "EX", refusedSeconds, "NX")) !== null;
  } catch (error) {
    // Reported all the same when there is no memory to record it.
    if (isOutOfMemory(error)) return true;
    throw error;
  }
}

/** Where something was done and what, identical for every delivery of the event. */
function identifyEvent(event: InboundEvent): MessageRef {
  if (event.kind === "stop") {
    const { platform, workspace, channel } =
      "thread" in event.target ? event.target.thread : event.target.message;
    return { platform, workspace, channel, message: `stop~${event.dedupeKey ?? event.at}` };
  }
  return event.kind === "action"
    ? { ...event.ref, message: `${event.ref.message}~${event.action}~${event.at}` }
    : event.ref;
}
