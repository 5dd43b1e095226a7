import { z } from "zod";
import { agentEventOptions } from "../agent/journal/event-schemas.ts";
import type { AgentEvent, TurnOutcome } from "../agent/events.ts";
import { createStoredParser } from "../agent/text/parse-stored.ts";
import { type Fields, turnOutcomeSchema } from "../agent/journal/schemas.ts";
import type { OutboundMessage } from "../chat/outbound.ts";
import { outboundMessageSchema } from "../chat/schemas.ts";

/** What live viewers of a thread get: the agent's events, and the end. */
export type LiveEvent =
  | AgentEvent
  | { type: "turn-start"; turn: string; messages: string[] }
  | { type: "turn-end"; turn: string; outcome: TurnOutcome; messages: string[]; closing: OutboundMessage };

type Told<Type extends LiveEvent["type"]> = Extract<LiveEvent, { type: Type }>;

export const parseLiveEvent = createStoredParser<LiveEvent>(
  z.discriminatedUnion("type", [
    ...agentEventOptions,
    z.looseObject({
      type: z.literal("turn-start"),
      turn: z.string(),
      messages: z.array(z.string()),
    } satisfies Fields<Told<"turn-start">>),
    z.looseObject({
      type: z.literal("turn-end"),
      turn: z.string(),
      outcome: turnOutcomeSchema,
      messages: z.array(z.string()),
      closing: outboundMessageSchema,
    } satisfies Fields<Told<"turn-end">>),
  ]),
);
