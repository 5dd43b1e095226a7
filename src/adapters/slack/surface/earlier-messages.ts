import type { WebClient } from "@slack/web-api";
import { z } from "zod";
import type { ContextMessage } from "../../../chat/inbound.ts";
import type { MessageRef, ThreadRef } from "../../../chat/threads.ts";
import type { People } from "../inbound/people.ts";
import { toQuote, type WrittenMessage, writtenSchema } from "./quotes.ts";

/** Slack recommends 200 messages an answer, and gives fewer than 1,000. */
const pageSizes = { usual: 200, largest: 999 };
/** A long thread's newest messages are searched in so many calls. */
const mostCalls = 10;

/** Others tell of what was done. */
const saidSchema = writtenSchema.extend({
  subtype: z.enum(["file_share", "thread_broadcast", "bot_message"]).optional(),
});

/**
 * What was written in a thread before that message: the first, which says what it is about, and the newest.
 *
 * Slack tells the earliest messages of a time span first. So the end of a long thread is found by halving the span,
 * until what is left of it fits into one answer and is enough.
 * https://docs.slack.dev/reference/methods/conversations.replies
 */
export async function readEarlierMessages(
  client: WebClient,
  people: People,
  thread: ThreadRef,
  before: MessageRef,
  limit: number,
): Promise<ContextMessage[]> {
  const pageSize = Math.min(Math.max(2 * limit, pageSizes.usual), pageSizes.largest);
  const found = new Map<string, WrittenMessage>();
  let from = thread.thread;
  let until = before.message;
  for (let calls = 0, oldest = from; calls < mostCalls; calls += 1) {
    const { messages = [], has_more: hasMore } = await client.conversations.replies({
      channel: thread.channel,
      ts: thread.thread,
      oldest,
      latest: before.message,
      inclusive: false,
      limit: pageSize,
    });
    let known = 0;
    for (const entry of messages) {
      const { data } = saidSchema.safeParse(entry);
      if (!data || Number(data.ts) >= Number(before.message)) continue;
      found.set(data.ts, data);
      // The first message of the thread always comes along.
      if (Number(data.ts) > Number(oldest)) known += 1;
      if (hasMore && Number(data.ts) > Number(from)) from = data.ts;
    }
    if (!hasMore) {
      if (oldest === thread.thread || known >= limit) break;
      until = oldest;
    }
    oldest = findMiddle(from, until);
  }
  const inOrder = [...found.values()].toSorted((a, b) => Number(a.ts) - Number(b.ts));
  if (inOrder.length > limit) inOrder.splice(1, inOrder.length - limit);
  const room: ContextMessage[] = [];
  for (const message of inOrder) {
    const quote = await toQuote(message, { people, team: thread.workspace, botUserId: "" });
    if (quote.text) room.push(quote);
  }
  return room;
}

/** The time in the middle of two. */
function findMiddle(earlier: string, later: string): string {
  return ((Number(earlier) + Number(later)) / 2).toFixed(6);
}
