import type {
  InboundDeletion,
  InboundEdit,
  InboundMessage,
  Intake,
  IntakeResult,
} from "../../../chat/inbound.ts";
import { threadId, type ThreadId } from "../../../chat/threads.ts";
import { parseTs } from "./events.ts";

/** Slack's connections deliver what belongs together within some seconds. */
const secondLookMs = 3_000;
/** Of a message that is older than this Slack has told when it was changed. */
const freshMs = 30_000;
/** What concerns no thread of ours is much, and little of it needs a second look. */
const capacity = 1_000;

type Dependent = InboundMessage | InboundEdit | InboundDeletion;

/**
 * Offers a second time what nobody has claimed: a reply, and what was done to a message. Slack promises no order, so each
 * may be told before the message that it belongs to, to this process or another.
 * https://docs.slack.dev/apis/events-api
 */
export function createEarlyEvents(
  intake: Intake,
  onError: (error: unknown) => void,
): Intake & { close(): void } {
  const waiting = new Map<Dependent, NodeJS.Timeout>();

  const offerAgain = async (event: Dependent): Promise<void> => {
    clearTimeout(waiting.get(event));
    if (waiting.delete(event)) await intake.receive(event);
  };

  const offerThread = async (thread: ThreadId): Promise<void> => {
    for (const event of waiting.keys()) if (threadId(event.thread) === thread) await offerAgain(event);
  };

  return {
    async receive(event) {
      const result = await intake.receive(event);
      if (event.kind === "stop" || event.kind === "action") return result;
      if (mayBeEarly(event, result) && waiting.size < capacity) {
        const look = setTimeout(() => void offerAgain(event).catch(onError), secondLookMs).unref();
        waiting.set(event, look);
      }
      if (result.kind === "accepted") await offerThread(result.thread);
      return result;
    },
    close() {
      for (const look of waiting.values()) clearTimeout(look);
      waiting.clear();
    },
  };
}

function mayBeEarly(event: Dependent, result: IntakeResult): boolean {
  if (result.kind !== "ignored") return false;
  if (event.kind === "message") return result.unclaimed === true;
  return event.at - parseTs(event.ref.message) < freshMs;
}
