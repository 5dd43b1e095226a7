import type { InboundMessage, Intake } from "../../../chat/inbound.ts";
import { threadId, type ThreadId } from "../../../chat/threads.ts";

/** Slack's connections deliver what belongs together within some seconds. */
const secondLookMs = 3_000;
/** Replies in threads that are none of ours are many, and few of them need a second look. */
const capacity = 1_000;

/**
 * Offers replies that no thread of ours has claimed a second time: Slack promises no order, so a reply may be told
 * before the mention that begins its thread, to this process or another.
 * https://docs.slack.dev/apis/events-api
 */
export function createEarlyReplies(
  intake: Intake,
  onError: (error: unknown) => void,
): Intake & { close(): void } {
  const waiting = new Map<InboundMessage, NodeJS.Timeout>();

  const offerAgain = async (reply: InboundMessage): Promise<void> => {
    clearTimeout(waiting.get(reply));
    if (waiting.delete(reply)) await intake.receive(reply);
  };

  const offerThread = async (thread: ThreadId): Promise<void> => {
    for (const reply of waiting.keys()) if (threadId(reply.thread) === thread) await offerAgain(reply);
  };

  return {
    async receive(event) {
      const result = await intake.receive(event);
      if (event.kind !== "message") return result;
      if (result.kind === "ignored" && result.unclaimed && waiting.size < capacity) {
        const look = setTimeout(() => void offerAgain(event).catch(onError), secondLookMs).unref();
        waiting.set(event, look);
      }
      if (result.kind === "accepted" && ["mention", "direct"].includes(event.addressed))
        await offerThread(result.thread);
      return result;
    },
    close() {
      for (const look of waiting.values()) clearTimeout(look);
      waiting.clear();
    },
  };
}
