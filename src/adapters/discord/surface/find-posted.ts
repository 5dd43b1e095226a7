import { type REST, Routes } from "discord.js";
import { z } from "zod";
import type { OutboundMessage } from "../../../chat/outbound.ts";
import type { MessageRef, ThreadRef } from "../../../chat/threads.ts";
import { compareByTime, messageRef, toSnowflake } from "../connection/ids.ts";
import { fetchOwnId } from "../connection/rest.ts";
import { renderFile, renderParts } from "./render.ts";

const pageSize = 100;

const messagesSchema = z.array(
  z.object({ id: z.string(), author: z.object({ id: z.string() }), content: z.string() }),
);
type Posted = z.infer<typeof messagesSchema>[number];

/**
 * The parts of what we have posted in the thread since then, as one of these messages. They are told by their text:
 * Discord gives a nonce back only to whoever posts with it. What was said before with the same words must not pass for
 * it, so no difference of clocks is allowed for.
 *
 * @param since ms since the epoch
 */
export async function findPosted(
  rest: REST,
  thread: ThreadRef,
  since: number,
  as: readonly OutboundMessage[],
): Promise<MessageRef[]> {
  if (as.length === 0) return [];
  const query = new URLSearchParams({ after: toSnowflake(since), limit: String(pageSize) });
  const [botId, read] = await Promise.all([
    fetchOwnId(rest),
    rest.get(Routes.channelMessages(thread.thread), { query }),
  ]);
  const own = messagesSchema
    .parse(read)
    .filter(({ author }) => author.id === botId)
    .toSorted((a, b) => compareByTime(a.id, b.id));
  const found = as.map((message) => findParts(own, message)).find(({ length }) => length > 0) ?? [];
  return found.map(({ id }) => messageRef(thread, { where: thread.thread, message: id }));
}

/** As far as they are there without a gap. */
function findParts(own: readonly Posted[], message: OutboundMessage): Posted[] {
  const parts = renderParts(message);
  const beginning = renderFile(message)?.beginning;
  const withFile = beginning && own.find((posted) => isSame(posted, beginning));
  // The rest of it is in its file.
  if (withFile) return parts.map(() => withFile);
  const found: Posted[] = [];
  let left = own;
  for (const part of parts) {
    const at = left.findIndex((posted) => isSame(posted, part));
    const posted = left[at];
    if (!posted) break;
    found.push(posted);
    left = left.slice(at + 1);
  }
  return found;
}

/** Discord takes away the blanks at both ends. */
function isSame(posted: Posted, { content = "" }: { content?: string | undefined }): boolean {
  return posted.content.trim() === content.trim();
}
