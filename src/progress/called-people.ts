import { isFromPerson, type UserMessage } from "../agent/messages.ts";
import type { OutboundMessage } from "../chat/outbound.ts";
import type { Receipt } from "../queue/turns/contracts.ts";

interface CallRules {
  /** When the turn began, ms. */
  startedAt: number;
  /** See `SurfaceLimits`. */
  mentionAfterMs?: number;
  mayMention(person: string): boolean;
}

/**
 * Whom the end of a turn calls: the people who asked, after so long that they may have looked away, and those who have
 * chosen that for each turn.
 */
export function listCalled(
  messages: readonly UserMessage[],
  { outcome: { kind }, mentionChoices }: Receipt,
  { startedAt, mentionAfterMs = Number.POSITIVE_INFINITY, mayMention }: CallRules,
): Pick<OutboundMessage, "mentions"> {
  // Whoever stopped it looks on, and whoever planned it does not wait for it.
  if (kind === "stopped") return {};
  const isLong = Date.now() - startedAt >= mentionAfterMs;
  const wantsCall = (person: string) => {
    const choice = mentionChoices?.get(person);
    return choice === undefined ? isLong : choice === "on";
  };
  const asked = messages.filter(
    (message) => isFromPerson(message) && !message.scheduled && !message.unaddressed,
  );
  const people = [...new Set(asked.map(({ author }) => author.id))];
  const mentions = people.filter((person) => wantsCall(person) && mayMention(person));
  return mentions.length > 0 ? { mentions } : {};
}
