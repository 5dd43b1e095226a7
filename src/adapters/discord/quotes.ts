import { type REST, Routes } from "discord.js";
import { z } from "zod";
import type { RoomMessage, ThreadRef } from "../adapter.ts";
import { readableText } from "./inbound-text.ts";
import { describePerson, type People, userSchema } from "./people.ts";
import { byTime, timeOf } from "./places.ts";
import { ownId } from "./rest.ts";

export const quotedSchema = z.object({
  id: z.string(),
  author: userSchema,
  content: z.string(),
  mentions: z.array(userSchema),
});

/** The text with the names of those that it mentions, and without the mention of the bot. */
export function textOf({ content, mentions }: z.infer<typeof quotedSchema>, botId: string): string {
  const names = new Map(mentions.map((user) => [user.id, describePerson(user).name]));
  return readableText(content, botId, (id) => names.get(id));
}

/** What somebody else than the bot has written. */
export async function quote(
  message: unknown,
  { botId, people, workspace }: { botId: string; people: People; workspace: string },
): Promise<RoomMessage | undefined> {
  const { data } = quotedSchema.safeParse(message);
  if (!data || data.author.id === botId) return undefined;
  const author = data.author.bot ? describePerson(data.author) : await people(data.author.id, workspace);
  return { author, text: textOf(data, botId), at: timeOf(data.id) };
}

/** What was written in a thread before a message, oldest first; at most 100, which is what Discord gives at once. */
export async function quotesBefore(
  rest: REST,
  people: People,
  thread: ThreadRef,
  { message, limit }: { message: string; limit: number },
): Promise<RoomMessage[]> {
  const query = new URLSearchParams({ before: message, limit: String(Math.min(100, limit)) });
  const list = z
    .array(z.looseObject({ id: z.string() }))
    .parse(await rest.get(Routes.channelMessages(thread.thread), { query }));
  const botId = await ownId(rest);
  const quotes = list
    .toSorted((a, b) => byTime(a.id, b.id))
    .map((found) => quote(found, { botId, people, workspace: thread.workspace }));
  return (await Promise.all(quotes)).flatMap((found) => found ?? []);
}
