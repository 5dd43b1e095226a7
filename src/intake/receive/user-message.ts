import type { Enclosed, UserMessage } from "../../agent/messages.ts";
import type { InboundMessage } from "../../chat/inbound.ts";
import { readPlanTask } from "../text-commands/plan.ts";

/** The message as the mailbox stores it. */
export function toUserMessage(event: InboundMessage): UserMessage {
  const { id, name } = event.author;
  const enclosed = collectExtras(event);
  return {
    role: "user",
    id: event.ref.message,
    author: { id, name },
    ...readTask(event.text, { isUnaddressed: event.addressed === "none" }),
    ...(Object.keys(enclosed).length > 0 && { enclosed }),
    at: event.at,
    ...(event.trace && { trace: event.trace }),
  };
}

/** What a text asks for, and whether its author wants to see a plan first. Nobody asks who addresses nobody. */
export function readTask(
  text: string,
  { isUnaddressed }: { isUnaddressed: boolean },
): Pick<UserMessage, "text" | "plan"> {
  const planned = isUnaddressed ? undefined : readPlanTask(text);
  return planned === undefined ? { text } : { text: planned, plan: true };
}

/** Leaves out what is empty: Lua scripts in Redis cannot tell an empty list from an empty object. */
function collectExtras({ attachments, about, options, addressed, thread, ref }: InboundMessage): Enclosed {
  const files = [...attachments, ...(about?.attachments ?? [])];
  // A thread that begins with this message has no earlier ones.
  const mayBeLate = (addressed === "mention" || addressed === "none") && ref.message !== thread.thread;
  return {
    ...(files.length > 0 && { files }),
    ...(about && {
      about: { author: { id: about.author.id, name: about.author.name }, text: about.text, at: about.at },
    }),
    ...(options?.model && { model: options.model }),
    ...(options?.skill && { skill: options.skill }),
    ...(options?.prompt && { prompt: options.prompt }),
    ...(mayBeLate && { room: true as const }),
  };
}
