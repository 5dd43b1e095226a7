import type { InboundEvent, Intake, IntakeResult } from "../chat/inbound.ts";

/** So many messages are remembered. */
const capacity = 1_000;
/**
 * For so long, ms: a platform that tells of one message in two events does so within a second. What it tells later,
 * such as after a failover that lost the message, is for Redis to judge.
 */
const rememberMs = 10_000;

interface Received {
  result: Promise<IntakeResult>;
  at: number;
}

/**
 * The same intake, but a message that it has just accepted in this process is not handed to it again. Slack tells of
 * each mention twice, mostly at once; Redis would find that out too, and it is what knows of other processes.
 *
 * @param intake accepts only what is certain to be kept: a repeat is acknowledged on the word of the first one
 */
export function dropRepeats(intake: Intake, now: () => number = Date.now): Intake {
  const received = new Map<string, Received>();

  const recall = (key: string): Received | undefined => {
    const known = received.get(key);
    return known && now() - known.at < rememberMs ? known : undefined;
  };

  const receiveMessage = async (event: InboundEvent, key: string): Promise<IntakeResult> => {
    let known = recall(key);
    while (known) {
      const earlier = await known.result.catch(() => undefined);
      if (earlier?.kind === "accepted" || earlier?.kind === "duplicate") return { kind: "duplicate" };
      // What was refused or ignored may have been another reading of the message, such as that of a follow-up.
      const latest = recall(key);
      if (latest === known) break;
      known = latest;
    }
    const result = intake.receive(event);
    received.delete(key);
    received.set(key, { result, at: now() });
    const oldest = received.keys().next();
    if (received.size > capacity && !oldest.done) received.delete(oldest.value);
    return result;
  };

  return {
    receive(event) {
      if (event.kind !== "message") return intake.receive(event);
      const { platform, workspace, channel, message } = event.ref;
      return receiveMessage(event, `${platform}:${workspace}:${channel}:${message}`);
    },
  };
}
