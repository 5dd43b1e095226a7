import { z } from "zod";
import { forwardedAuthor } from "../../../chat/forwarded.ts";
import type { Author, ContextMessage } from "../../../chat/inbound.ts";
import { besideText, readCard, readShownWords } from "../inbound/cards.ts";
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
  const files = [...message.files, ...message.attachments.flatMap((card) => card.files)];
  const author = await readAuthor(message, people);
  const text = readableText(readShownWords(message), botUserId, (id) => people.knownName(id));
  return { author, ...withFiles(text, files, team), at: Math.floor(Number(message.ts) * 1_000) };
}

/** What was forwarded with a message: somebody's words, and not those of whoever forwards them. */
export function readForwarded(
  { attachments, ts }: Pick<WrittenMessage, "attachments" | "ts">,
  { people, team, botUserId }: { people: People; team: string; botUserId: string },
): ContextMessage | undefined {
  const forwarded = attachments.filter((card) => card.is_share);
  const words = forwarded.map(readCard).filter(Boolean).join("\n");
  const text = readableText(words, botUserId, (id) => people.knownName(id));
  const said = withFiles(
    text,
    forwarded.flatMap((card) => card.files),
    team,
  );
  return said.text === ""
    ? undefined
    : { author: forwardedAuthor, ...said, at: Math.floor(Number(ts) * 1_000) };
}

function withFiles(
  text: string,
  files: WrittenMessage["files"],
  team: string,
): Pick<ContextMessage, "text" | "attachments"> {
  const attachments = files.flatMap((file) => (file ? [toAttachment(file, team)] : []));
  const names = attachments.map(({ name }) => `(file: ${name})`);
  return {
    text: [text, ...names].join("\n").trim(),
    ...(attachments.length > 0 && { attachments }),
  };
}

async function readAuthor(message: WrittenMessage, people: People): Promise<Author> {
  const { user, bot_id: bot, bot_profile: profile, username } = message;
  const known = user === undefined ? undefined : await people.author(user);
  if (known && bot === undefined) return known;
  const name = known?.name ?? profile?.name ?? username ?? "a bot";
  return { id: user ?? bot ?? "", name, standing: "bot", roles: [] };
}
