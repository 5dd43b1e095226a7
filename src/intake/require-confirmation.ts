import type { InboundEvent, Intake, IntakeResult } from "../chat/inbound.ts";
import { type ThreadId, threadId } from "../chat/threads.ts";
import type { Replicate } from "../queue/redis/replication.ts";
import { RedisUnavailable } from "../queue/redis/unavailable.ts";

/** What waits for Redis is in memory; platforms send the rest again. */
export const mostWaiting = 1_000;

/**
 * The same intake, but an event whose outcome Redis has not confirmed within seconds is rejected instead of waited for:
 * it is not acknowledged, so that the platform sends it again, and intake drops what was kept after all.
 *
 * @param options.confirm resolves with the outcome, and rejects when Redis goes away meanwhile
 * @param options.replicate waits until replicas have what was written for the thread; without it none is waited for
 */
export function requireConfirmation(
  intake: Intake,
  options: {
    confirm(work: Promise<IntakeResult>): Promise<IntakeResult>;
    replicate?: Replicate;
  },
): Intake {
  let waiting = 0;
  const receive = async (event: InboundEvent): Promise<IntakeResult> => {
    const reachReplicas = await options.replicate?.(threadOf(event));
    const result = await intake.receive(event);
    await reachReplicas?.(threadOf(event, result));
    return result;
  };
  return {
    async receive(event) {
      if (waiting >= mostWaiting)
        throw new RedisUnavailable(
          "Too many events wait for Redis: this one is for the platform to send again.",
        );
      waiting += 1;
      const received = receive(event);
      const leave = () => void (waiting -= 1);
      // Also behind the rejection it stays in memory until Redis is back.
      received.then(leave, leave);
      return options.confirm(received);
    },
  };
}

function threadOf(event: InboundEvent, result?: IntakeResult): ThreadId | undefined {
  if (result && "thread" in result) return result.thread;
  if (event.kind !== "stop") return threadId(event.thread);
  return "thread" in event.target ? threadId(event.target.thread) : undefined;
}
