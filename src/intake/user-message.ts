import type { Enclosed, UserMessage } from "../agent/messages.ts";
import type { InboundMessage } from "../chat/inbound.ts";
import { readPlanTask } from "./text-commands/plan.ts";

/** The message as the mailbox stores it. */
export function toUserMessage(event: InboundMessage): UserMessage {
  const { id, name } = event.author;
  const enclosed = collectExtras(event);
  const planned = event.addressed === "none" ? undefined : readPlanTask(event.text);
  return {
    role: "user",
    id: event.ref.message,
    author: { id, name },
    text: planned ?? event.text,
    ...(Object.keys(enclosed).length > 0 && { enclosed }),
    at: event.at,
    ...(event.trace && { trace: event.trace }),
    ...(planned !== undefined && { plan: true as const }),
  };
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
