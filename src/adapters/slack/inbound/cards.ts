import { z } from "zod";
import { fileSchema } from "../surface/attachments.ts";

/** What programs post beside the text of a message, or instead of it: alerts and builds often consist of nothing else. */

const words = z.string().optional().catch(undefined);
const blocksSchema = z.array(z.unknown()).catch([]);

/** https://docs.slack.dev/messaging/formatting-message-text#attachments */
const cardSchema = z.object({
  ...{ pretext: words, author_name: words, title: words, text: words, fallback: words },
  fields: z.array(z.object({ title: words, value: words })).catch([]),
  blocks: blocksSchema,
  // Of a message that was forwarded.
  is_share: z.boolean().optional().catch(undefined),
  files: z.array(fileSchema.nullable().catch(null)).catch([]),
});

/** What a message has beside its text; for a schema of messages. */
export const besideText = { attachments: z.array(cardSchema).catch([]), blocks: blocksSchema };

interface Message {
  text: string;
  attachments: z.infer<typeof cardSchema>[];
  blocks: readonly unknown[];
}

/** All words that a message shows, in Slack's markup. Its text says what its blocks say, if there is any. */
export function readShownWords({ text, attachments, blocks }: Message): string {
  const own = text.trim() === "" ? readBlocks(blocks) : text;
  return joinLines([own, ...attachments.map(readCard)]);
}

/** The words of one card. */
export function readCard({
  pretext,
  author_name,
  title,
  text,
  fallback,
  fields,
  blocks,
}: Message["attachments"][0]): string {
  const named = fields.map((field) => [field.title, field.value].filter(Boolean).join(": "));
  const shown = joinLines([pretext, author_name, title, text, ...named, readBlocks(blocks)]);
  return shown || (fallback ?? "");
}

const blockSchema = z.object({
  type: words,
  text: z.unknown().optional(),
  url: words,
  fields: blocksSchema,
  elements: blocksSchema,
});

function readBlocks(blocks: readonly unknown[]): string {
  return joinLines(blocks.map(readBlock));
}

/** Of a block, or of what is in one. Buttons say nothing. */
function readBlock(block: unknown): string {
  const { data } = blockSchema.safeParse(block);
  if (!data || data.type === "actions") return "";
  if (typeof data.text === "string") return data.text;
  const inside = [data.text, ...data.fields, ...data.elements].map(readBlock);
  // What stands in one line of a text is in pieces.
  const isLine = /^rich_text_(?!list)/.test(data.type ?? "");
  return (isLine ? inside.join("") : joinLines(inside)) || (data.url ?? "");
}

function joinLines(lines: readonly (string | undefined)[]): string {
  return lines.filter(Boolean).join("\n");
}
