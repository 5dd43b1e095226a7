import type { Redis } from "ioredis";
import type { InboundMessage, IntakeResult } from "../../chat/inbound.ts";
import type { ActionButton } from "../../chat/outbound.ts";
import { keys } from "../../queue/redis/keys.ts";
import type { Replies } from "../replies.ts";

export type Answer = (
  event: InboundMessage,
  markdown: string,
  actions?: ActionButton[],
) => Promise<IntakeResult>;

/** Gives what runs the message as a command of one kind; undefined for messages that are none of it. */
export type CommandReader = (event: InboundMessage) => (() => Promise<IntakeResult>) | undefined;

/** How a command's answer is told. */
export interface Saying extends Pick<Replies, "refuse" | "mark"> {
  answerAndMark: Answer;
}

/** Runs it unless its answer was posted before: told again, it would undo what was changed since. */
export async function runOnce(
  redis: Redis,
  event: InboundMessage,
  run: () => Promise<IntakeResult>,
): Promise<IntakeResult> {
  return (await redis.exists(keys.replied(event.ref))) ? { kind: "duplicate" } : run();
}
