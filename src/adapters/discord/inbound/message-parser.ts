import { MessageType } from "discord.js";
import { z } from "zod";
import type { InboundMessage } from "../../../chat/inbound.ts";
import type { ChannelInfo } from "../connection/channels.ts";
import { memberSchema } from "../connection/people.ts";
import { attachmentSchema } from "../surface/attachments.ts";
import { readComponentId } from "../surface/buttons.ts";
import { embedSchema, writtenSchema } from "../surface/quotes.ts";

const rowSchema = z.object({ components: z.array(z.object({ custom_id: z.string().optional() })).catch([]) });

const messageSchema = writtenSchema.extend({
  channel_id: z.string(),
  guild_id: z.string().optional(),
  webhook_id: z.string().optional(),
  member: memberSchema.optional(),
  type: z.number(),
  attachments: z.array(attachmentSchema),
  embeds: z.array(embedSchema).catch([]),
  edited_timestamp: z.string().nullish(),
  mention_roles: z.array(z.string()).default([]),
  components: z.array(rowSchema).catch([]),
  // `fetchQuote` parses it.
  referenced_message: z.unknown().optional(),
  // `readForwarded` parses them.
  message_snapshots: z.array(z.unknown()).optional(),
});

export type DiscordMessage = z.infer<typeof messageSchema>;

const rolesSchema = z.object({
  roles: z.array(z.object({ id: z.string(), tags: z.object({ bot_id: z.string().optional() }).optional() })),
});

/** What people write, among everything that is a message: joins, pins, the names of threads. */
const writtenTypes = new Set<number>([MessageType.Default, MessageType.Reply]);

/** Parses messages, and reads a mention of the bot's own role as one of the bot. */
export class MessageParser {
  readonly #botId: string;
  readonly #ownRoles = new Set<string>();

  constructor(botId: string) {
    this.#botId = botId;
  }

  /** Learns the role of the bot from a server: it has the bot's name, so people mention it as well. */
  learnRole(guild: unknown): void {
    for (const { id, tags } of rolesSchema.safeParse(guild).data?.roles ?? []) {
      if (tags?.bot_id === this.#botId) this.#ownRoles.add(id);
    }
  }

  /** Undefined for what is not a message. Without permission to read it, a message has no text. */
  parse(event: unknown): DiscordMessage | undefined {
    const { data } = messageSchema.safeParse(event);
    if (!data?.mention_roles.some((id) => this.#ownRoles.has(id)) || data.content === "") return data;
    const content = data.content.replaceAll(/<@&(\d+)>/g, (mention, id: string) =>
      this.#ownRoles.has(id) ? `<@${this.#botId}>` : mention,
    );
    return { ...data, content, mentions: [{ id: this.#botId, username: "agent" }, ...data.mentions] };
  }
}

/** Whether a person or a bot wrote it, rather than Discord. */
export function isWritten(message: DiscordMessage): boolean {
  return writtenTypes.has(message.type);
}

/** Whether another Heddle shows its progress in it, which is not yet its answer. */
export function isProgress({ author, components: rows }: DiscordMessage): boolean {
  const ids = rows.flatMap(({ components }) => components.map(({ custom_id = "" }) => custom_id));
  return author.bot === true && ids.some((id) => readComponentId(id)?.kind === "stop");
}

/** Undefined for a message that is not for us. */
export function readAddressee(
  message: DiscordMessage,
  channel: ChannelInfo,
  botId: string,
): InboundMessage["addressed"] | undefined {
  if (message.guild_id === undefined) return "direct";
  if (message.mentions.some(({ id }) => id === botId)) return "mention";
  return channel.kind.is === "thread" ? "follow-up" : undefined;
}
