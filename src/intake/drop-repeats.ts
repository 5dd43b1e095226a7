import type { InboundEvent, Intake, IntakeResult } from "../chat/inbound.ts";

/** So many messages are remembered. */
const capacity = 1_000;

/**
 * The same intake, but a message that it has accepted in this process is not handed to it again. Slack tells of each
 * mention twice, mostly at once; Redis would find that out too, and it is what knows of other processes.
 */
export function dropRepeats(intake: Intake): Intake {
  const received = new Map<string, Promise<IntakeResult>>();

  const receiveMessage = async (event: InboundEvent, key: string): Promise<IntakeResult> => {
    let known = received.get(key);
    while (known) {
      const earlier = await known.catch(() => undefined);
      if (earlier?.kind === "accepted" || earlier?.kind === "duplicate") return { kind: "duplicate" };
      // What was refused or ignored may have been another reading of the message, such as that of a follow-up.
      const latest = received.get(key);
      if (latest === known) break;
      known = latest;
    }
    const receiving = intake.receive(event);
    received.delete(key);
    received.set(key, receiving);
    const oldest = received.keys().next();
    if (received.size > capacity && !oldest.done) received.delete(oldest.value);
    return receiving;
  };

  return {
    receive(event) {
      if (event.kind !== "message") return intake.receive(event);
      const { platform, workspace, channel, message } = event.ref;
      return receiveMessage(event, `${platform}:${workspace}:${channel}:${message}`);
    },
  };
}
