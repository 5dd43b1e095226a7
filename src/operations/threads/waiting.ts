import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { handleOf, listWaiting } from "../../queue/session/mailbox/waiting-messages.ts";
import { makeExcerpt, type Mask } from "../excerpt.ts";
import type { WaitingLine } from "../operations.ts";

const shownChars = 500;

/** The messages that no turn of the thread has taken, in the order in which one will take them. */
export async function listWaitingLines(redis: Redis, thread: ThreadId, mask: Mask): Promise<WaitingLine[]> {
  const messages = await listWaiting(redis, thread);
  return messages.map((message) => {
    const { id, author, text, at, scheduled } = message;
    const name = handleOf(message);
    return {
      ...{ id, author: mask(author.name), text: makeExcerpt(text, mask, shownChars), at },
      ...(name !== undefined && { name }),
      ...(scheduled && { scheduled }),
    };
  });
}
