import type { Enclosed, UserMessage } from "../agent/messages.ts";
import type { InboundEvent } from "../chat/inbound.ts";

type MessageEvent = Extract<InboundEvent, { kind: "message" }>;

/** What the mailbox keeps of a message. */
export function toUserMessage(event: MessageEvent): UserMessage {
  const { id, name } = event.author;
  const enclosed = enclosedIn(event);
  return {
    role: "user",
    id: event.ref.message,
    author: { id, name },
    text: event.text,
    ...(Object.keys(enclosed).length > 0 && { enclosed }),
    at: event.at,
    ...(event.trace && { trace: event.trace }),
  };
}

/** Nothing that is empty: Redis' scripts cannot tell an empty list from an empty object. */
function enclosedIn({ attachments, about, options, addressed, thread, ref }: MessageEvent): Enclosed {
  // A thread that begins with this very message has no earlier ones.
  const mayBeLate = addressed === "mention" && ref.message !== thread.thread;
  return {
    ...(attachments.length > 0 && { files: attachments }),
    ...(about && {
      about: { author: { id: about.author.id, name: about.author.name }, text: about.text, at: about.at },
    }),
    ...(options?.model && { model: options.model }),
    ...(options?.skill && { skill: options.skill }),
    ...(mayBeLate && { room: true as const }),
  };
}
