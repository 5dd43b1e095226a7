import { type REST, Routes } from "discord.js";
import { z } from "zod";
import { forwardedAuthor } from "../../../chat/forwarded.ts";
import type { ContextMessage } from "../../../chat/inbound.ts";
import type { ThreadRef } from "../../../chat/threads.ts";
import { compareByTime, readTime } from "../connection/ids.ts";
import { describePerson, type People, userSchema } from "../connection/people.ts";
import { fetchOwnId, refusalCode } from "../connection/rest.ts";
import { readableText } from "../inbound/text.ts";
import { attachmentHandle, attachmentSchema } from "./attachments.ts";

export const writtenSchema = z.object({
  id: z.string(),
  author: userSchema,
  content: z.string(),
  mentions: z.array(userSchema),
});

/** The cards under a message; what programs post (alerts, builds) often consists of nothing else. */
export const embedSchema = z.object({
  title: z.string().nullish(),
  description: z.string().nullish(),
  fields: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
});

const contentSchema = z.object({
  content: z.string(),
  mentions: z.array(userSchema).catch([]),
  attachments: z.array(attachmentSchema).catch([]),
  embeds: z.array(embedSchema).catch([]),
});

/**
 * What a forwarded message says, which holds nothing else then: neither its author nor its place.
 * https://docs.discord.com/developers/resources/message#message-snapshot-object
 */
const snapshotsSchema = z.array(z.object({ message: contentSchema })).catch([]);

const quotedSchema = contentSchema.extend({
  ...{ id: z.string(), author: userSchema, message_snapshots: snapshotsSchema },
});

function readEmbed({ title, description, fields }: z.infer<typeof embedSchema>): string[] {
  return [title ?? "", description ?? "", ...(fields ?? []).map(({ name, value }) => `${name}: ${value}`)];
}

/** The text with the names of the people it mentions, and without the mention of the bot. */
export function readText(
  { content, mentions }: Pick<z.infer<typeof writtenSchema>, "content" | "mentions">,
  botId: string,
): string {
  const names = new Map(mentions.map((user) => [user.id, describePerson(user).name]));
  return readableText(content, botId, (id) => names.get(id));
}

/** The same with the words of its cards. */
export function readShownWords(
  content: Pick<z.infer<typeof contentSchema>, "content" | "mentions" | "embeds">,
  botId: string,
): string {
  return [readText(content, botId), ...content.embeds.flatMap(readEmbed)].filter(Boolean).join("\n");
}

function readContent(content: z.infer<typeof contentSchema>, botId: string): string {
  const files = content.attachments.map(({ filename }) => `(file: ${filename})`);
  return [readShownWords(content, botId), ...files].filter(Boolean).join("\n").trim();
}

function readAttachments(contents: z.infer<typeof contentSchema>[]): Pick<ContextMessage, "attachments"> {
  const attachments = contents.flatMap((content) => content.attachments.map(attachmentHandle));
  return attachments.length > 0 ? { attachments } : {};
}

const forwardSchema = z.object({ id: z.string(), message_snapshots: z.array(z.unknown()).min(1) });

/** What was forwarded with that message: somebody's words, and not those of whoever forwards them. */
export function readForwarded(message: unknown, botId: string): ContextMessage | undefined {
  const { data } = forwardSchema.safeParse(message);
  const forwarded = snapshotsSchema
    .parse(data?.message_snapshots ?? [])
    .map(({ message: content }) => content);
  const text = forwarded
    .map((content) => readContent(content, botId))
    .filter(Boolean)
    .join("\n");
  if (!data || text === "") return undefined;
  return { author: forwardedAuthor, text, ...readAttachments(forwarded), at: readTime(data.id) };
}

/** What somebody other than the bot has written, with its files; undefined when there is nothing. */
export async function fetchQuote(
  message: unknown,
  { botId, people, workspace }: { botId: string; people: People; workspace: string },
): Promise<ContextMessage | undefined> {
  const { data } = quotedSchema.safeParse(message);
  if (!data || data.author.id === botId) return undefined;
  const forwarded = data.message_snapshots.map(({ message: content }) => content);
  const quoted = forwarded.map(
    (content) => `(forwarded, in somebody else's words)\n${readContent(content, botId)}`,
  );
  const text = [readContent(data, botId), ...quoted].filter(Boolean).join("\n");
  if (text === "") return undefined;
  const author = data.author.bot ? describePerson(data.author) : await people(data.author.id, workspace);
  return { author, text, ...readAttachments([data, ...forwarded]), at: readTime(data.id) };
}

/**
 * What was written in a thread before a message, oldest first: the message that it starts from, which says what it is
 * about, and the newest ones, at most 100, which is one page of Discord's.
 */
export async function fetchQuotesBefore(
  rest: REST,
  people: People,
  thread: ThreadRef,
  { message, limit }: { message: string; limit: number },
): Promise<ContextMessage[]> {
  const query = new URLSearchParams({
    before: message,
    limit: String(Math.min(100, Math.max(1, limit - 1))),
  });
  const list = z
    .array(z.looseObject({ id: z.string() }))
    .parse(await rest.get(Routes.channelMessages(thread.thread), { query }));
  // It has the thread's id, and is in the channel, or in a forum in the thread itself. Other threads have no such message.
  const readStart = (where: string) =>
    rest.get(Routes.channelMessage(where, thread.thread)).catch((error: unknown) => {
      if (refusalCode(error) === undefined) throw error;
    });
  const isRead = list.some(({ id }) => id === thread.thread);
  const start = (await readStart(thread.channel)) ?? (isRead ? undefined : await readStart(thread.thread));
  const botId = await fetchOwnId(rest);
  const quotes = [start, ...list.toSorted((a, b) => compareByTime(a.id, b.id))].map((found) =>
    fetchQuote(found, { botId, people, workspace: thread.workspace }),
  );
  return (await Promise.all(quotes)).flatMap((found) => found ?? []);
}
