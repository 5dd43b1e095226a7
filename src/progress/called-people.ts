import type { TurnOutcome } from "../agent/events.ts";
import { isFromPerson, type UserMessage } from "../agent/messages.ts";
import type { OutboundMessage } from "../chat/outbound.ts";

interface CallRules {
  /** When the turn began, ms. */
  startedAt: number;
  /** See `SurfaceLimits`. */
  mentionAfterMs?: number;
  mayMention(person: string): boolean;
}

/** Whom the end of a turn calls: the people who asked, after so long that they may have looked away. */
export function listCalled(
  messages: readonly UserMessage[],
  { kind }: Pick<TurnOutcome, "kind">,
  { startedAt, mentionAfterMs = Number.POSITIVE_INFINITY, mayMention }: CallRules,
): Pick<OutboundMessage, "mentions"> {
  // Whoever stopped it looks on, and whoever planned it does not wait for it.
  if (kind === "stopped" || Date.now() - startedAt < mentionAfterMs) return {};
  const asked = messages.filter((message) => isFromPerson(message) && !message.scheduled);
  const mentions = [...new Set(asked.map(({ author }) => author.id))].filter(mayMention);
  return mentions.length > 0 ? { mentions } : {};
}
