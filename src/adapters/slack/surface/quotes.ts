import { z } from "zod";
import type { Author, ContextMessage } from "../../../chat/inbound.ts";
import { besideText, readShownWords } from "../inbound/cards.ts";
import type { People } from "../inbound/people.ts";
import { readableText } from "../inbound/text.ts";
import { fileSchema, toAttachment } from "./attachments.ts";

/** A message of a person or a program, as `conversations.replies` gives it. */
export const writtenSchema = z.object({
  user: z.string().optional(),
  bot_id: z.string().optional(),
  bot_profile: z.object({ name: z.string().optional() }).optional(),
  username: z.string().optional(),
  text: z.string().default(""),
  ...besideText,
  ts: z.string(),
  thread_ts: z.string().optional(),
  // Of one that was deleted, Slack keeps a stub.
  files: z.array(fileSchema.nullable().catch(null)).default([]),
});

export type WrittenMessage = z.infer<typeof writtenSchema>;

/** What somebody has written, with its files. @param where.botUserId whose mention is left out */
export async function toQuote(
  message: WrittenMessage,
  { people, team, botUserId }: { people: People; team: string; botUserId: string },
): Promise<ContextMessage> {
  const attachments = message.files.flatMap((file) => (file ? [toAttachment(file, team)] : []));
  const author = await readAuthor(message, people);
  const text = readableText(readShownWords(message), botUserId, (id) => people.knownName(id));
  const files = attachments.map(({ name }) => `(file: ${name})`);
  return {
    author,
    text: [text, ...files].join("\n").trim(),
    ...(attachments.length > 0 && { attachments }),
    at: Math.floor(Number(message.ts) * 1_000),
  };
}

async function readAuthor(message: WrittenMessage, people: People): Promise<Author> {
  const { user, bot_id: bot, bot_profile: profile, username } = message;
  const known = user === undefined ? undefined : await people.author(user);
  if (known && bot === undefined) return known;
  const name = known?.name ?? profile?.name ?? username ?? "a bot";
  return { id: user ?? bot ?? "", name, standing: "bot", roles: [] };
}
