import type { WebClient } from "@slack/web-api";
import { z } from "zod";
import type { Author, MessageRef, RoomMessage, ThreadRef } from "../adapter.ts";
import { readableText } from "./inbound-text.ts";
import type { People } from "./people.ts";

const pageSize = 200;
/** Slack tells a thread from its beginning; a longer one is not read to its end. */
const mostPages = 10;

const messageSchema = z.object({
  subtype: z.enum(["file_share", "thread_broadcast", "bot_message"]).optional(),
  user: z.string().optional(),
  bot_id: z.string().optional(),
  bot_profile: z.object({ name: z.string().optional() }).optional(),
  username: z.string().optional(),
  text: z.string().default(""),
  ts: z.string(),
  files: z.array(z.object({ name: z.string().nullish() })).default([]),
});

/** What was written in a thread before that message: the first, which says what it is about, and the newest. */
export async function earlierMessages(
  client: WebClient,
  people: People,
  thread: ThreadRef,
  before: MessageRef,
  limit: number,
): Promise<RoomMessage[]> {
  const found: z.infer<typeof messageSchema>[] = [];
  let cursor = {};
  for (let pages = 0; pages < mostPages; pages += 1) {
    const { messages = [], response_metadata: next } = await client.conversations.replies({
      channel: thread.channel,
      ts: thread.thread,
      latest: before.message,
      inclusive: false,
      limit: pageSize,
      ...cursor,
    });
    for (const entry of messages) {
      const { data } = messageSchema.safeParse(entry);
      if (data && Number(data.ts) < Number(before.message)) found.push(data);
    }
    if (found.length > limit) found.splice(1, found.length - limit);
    if (!next?.next_cursor) break;
    cursor = { cursor: next.next_cursor };
  }
  const room: RoomMessage[] = [];
  for (const message of found) {
    const author = await authorOf(message, people);
    const files = message.files.map(({ name }) => `(file: ${name ?? "without a name"})`);
    const text = [readableText(message.text, "", (id) => people.knownName(id)), ...files].join("\n").trim();
    if (text) room.push({ author, text, at: Math.floor(Number(message.ts) * 1_000) });
  }
  return room;
}

async function authorOf(message: z.infer<typeof messageSchema>, people: People): Promise<Author> {
  const { user, bot_id: bot, bot_profile: profile, username } = message;
  const known = user === undefined ? undefined : await people.author(user);
  if (known && bot === undefined) return known;
  const name = known?.name ?? profile?.name ?? username ?? "a bot";
  return { id: user ?? bot ?? "", name, standing: "bot", roles: [] };
}
