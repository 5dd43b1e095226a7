import { z } from "zod";
import type { InboundEvent } from "../../../chat/inbound.ts";
import type { ThreadRef } from "../../../chat/threads.ts";
import { fileSchema, toAttachment } from "../surface/attachments.ts";
import { stopAction } from "../surface/buttons.ts";
import { readForwarded } from "../surface/quotes.ts";
import { besideText, readShownWords } from "./cards.ts";
import type { People } from "./people.ts";
import { mentionsUser, readableText } from "./text.ts";

/** Who we are in a team, according to `auth.test`. */
export interface Identity {
  teamId: string;
  botUserId: string;
  botId: string;
}

const actionsSchema = z.object({ elements: z.array(z.object({ action_id: z.string().optional() })) });

const messageSchema = z.object({
  type: z.enum(["message", "app_mention"]),
  // What people write; a thread_broadcast is a reply that is also shown in the channel.
  subtype: z.enum(["file_share", "thread_broadcast"]).optional(),
  channel: z.string(),
  user: z.string(),
  text: z.string().default(""),
  ts: z.string(),
  thread_ts: z.string().optional(),
  files: z.array(fileSchema).optional(),
  // Absent for people.
  bot_id: z.string().nullish(),
  app_id: z.string().nullish(),
  ...besideText,
  edited: z.null().optional(),
});

const changedSchema = z.object({
  subtype: z.literal("message_changed"),
  channel: z.string(),
  message: z.object({
    // A tombstone is what Slack leaves in place of a deleted message that has replies.
    subtype: z.enum(["file_share", "thread_broadcast", "tombstone"]).optional(),
    user: z.string(),
    text: z.string().default(""),
    ts: z.string(),
    thread_ts: z.string().optional(),
    bot_id: z.null().optional(),
  }),
  previous_message: z.object({ user: z.string(), text: z.string().default("") }),
  event_ts: z.string(),
});

const deletedSchema = z.object({
  subtype: z.literal("message_deleted"),
  channel: z.string(),
  deleted_ts: z.string(),
  previous_message: z.object({
    user: z.string(),
    thread_ts: z.string().optional(),
    bot_id: z.null().optional(),
  }),
  event_ts: z.string(),
});

const reactionSchema = z.object({
  user: z.string(),
  reaction: z.string(),
  item: z.object({ type: z.literal("message"), channel: z.string(), ts: z.string() }),
  event_ts: z.string(),
});

const sessionStoppedSchema = z.object({
  user: z.string(),
  channel: z.string(),
  thread_ts: z.string(),
  event_ts: z.string(),
});

/** Turns what Slack sends into inbound events; undefined for what does not concern us. */
export interface EventReader {
  /** A new message, or the edit or deletion of one. */
  message(event: unknown): Promise<InboundEvent | undefined>;
  reaction(event: unknown): Promise<InboundEvent | undefined>;
  sessionStopped(event: unknown): Promise<InboundEvent | undefined>;
}

/** A reaction that somebody has put on a message; `name` is without its skin tone. */
export function readReaction(
  event: unknown,
): (z.infer<typeof reactionSchema> & { name: string }) | undefined {
  const { data } = reactionSchema.safeParse(event);
  const [name = ""] = data?.reaction.split("::skin-tone") ?? [];
  return data && { ...data, name };
}

/** What a reader needs to know of the settings. */
export interface ReaderRules {
  /** Names of the reactions that stop a turn, without colons. */
  stopReactions: readonly string[];
  /** Whether messages count in that channel that address nobody. */
  isWatched(teamId: string, channel: string): boolean;
}

export function createEventReader(
  identity: Identity,
  people: People,
  { stopReactions, isWatched }: ReaderRules,
): EventReader {
  const { teamId, botUserId } = identity;
  const place = (channel: string) => ({ platform: "slack", workspace: teamId, channel });
  const threadOf = (channel: string, thread: string): ThreadRef => ({ ...place(channel), thread });
  const deletion = async (
    user: string,
    at: string,
    { channel, ts, thread_ts }: { channel: string; ts: string; thread_ts?: string | undefined },
  ): Promise<InboundEvent | undefined> => {
    if (user === botUserId) return undefined;
    return {
      kind: "delete",
      thread: threadOf(channel, thread_ts ?? ts),
      ref: { ...place(channel), message: ts },
      author: await people.author(user),
      at: parseTs(at),
    };
  };
  const edit = async (changed: z.infer<typeof changedSchema>): Promise<InboundEvent | undefined> => {
    const { channel, message, previous_message: before, event_ts } = changed;
    const { ts, thread_ts } = message;
    if (message.subtype === "tombstone") return deletion(before.user, event_ts, { channel, ts, thread_ts });
    // Also sent when a link gets its preview or a reply is counted.
    if (message.user === botUserId || message.text === before.text) return undefined;
    return {
      kind: "edit",
      thread: threadOf(channel, thread_ts ?? ts),
      ref: { ...place(channel), message: ts },
      author: await people.author(message.user),
      text: readableText(message.text, botUserId, (id) => people.knownName(id)),
      at: parseTs(event_ts),
    };
  };

  const create = async (message: z.infer<typeof messageSchema>): Promise<InboundEvent | undefined> => {
    const addressed =
      readAddressee(message, botUserId) ?? (isWatched(teamId, message.channel) ? "none" : undefined);
    if (!addressed || isProgress(message)) return undefined;
    const author = await people.author(message.user);
    // What a program writes in the name of a person counts as a message of a bot.
    const isBots = Boolean(message.bot_id || message.app_id);
    const text = isBots ? readShownWords(message) : message.text;
    const about = isBots ? undefined : readForwarded(message, { people, team: teamId, botUserId });
    return {
      kind: "message",
      thread: threadOf(message.channel, message.thread_ts ?? message.ts),
      ref: { ...place(message.channel), message: message.ts },
      author: isBots ? { ...author, standing: "bot" } : author,
      text: readableText(text, botUserId, (id) => people.knownName(id)),
      attachments: (message.files ?? []).map((file) => toAttachment(file, teamId)),
      ...(about && { about }),
      addressed,
      at: parseTs(message.ts),
    };
  };

  return {
    async message(event) {
      const { data: changed } = changedSchema.safeParse(event);
      if (changed) return edit(changed);
      const { data: deleted } = deletedSchema.safeParse(event);
      if (deleted) {
        const { channel, deleted_ts: ts, previous_message: before, event_ts } = deleted;
        return deletion(before.user, event_ts, { channel, ts, thread_ts: before.thread_ts });
      }
      const { data: message } = messageSchema.safeParse(event);
      return message && message.user !== botUserId ? create(message) : undefined;
    },

    async reaction(event) {
      const data = readReaction(event);
      if (!data || data.user === botUserId || !stopReactions.includes(data.name)) return undefined;
      return {
        kind: "stop",
        target: { message: { ...place(data.item.channel), message: data.item.ts } },
        author: await people.author(data.user),
        at: parseTs(data.event_ts),
      };
    },

    async sessionStopped(event) {
      const { data } = sessionStoppedSchema.safeParse(event);
      if (!data) return undefined;
      return {
        kind: "stop",
        target: { thread: threadOf(data.channel, data.thread_ts) },
        author: await people.author(data.user),
        at: parseTs(data.event_ts),
      };
    },
  };
}

/** Slack sends a mention in a channel twice, as `app_mention` and as `message`; both must be read alike. */
function readAddressee(message: z.infer<typeof messageSchema>, botUserId: string) {
  if (message.channel.startsWith("D")) return "direct";
  if (message.type === "app_mention" || mentionsUser(message.text, botUserId)) return "mention";
  // One that has replies names the thread that it begins, where it is read later.
  // https://docs.slack.dev/reference/methods/conversations.replies
  return message.thread_ts === undefined || message.thread_ts === message.ts ? undefined : "follow-up";
}

/** Whether another Heddle shows its progress in it, which is not yet its answer. */
function isProgress({ bot_id, blocks }: z.infer<typeof messageSchema>): boolean {
  const actions = blocks.flatMap((block) => actionsSchema.safeParse(block).data?.elements ?? []);
  return !!bot_id && actions.some(({ action_id: id }) => id === stopAction);
}

/** `"1732100000.123456"` in milliseconds since the epoch. */
export function parseTs(ts: string): number {
  return Math.floor(Number(ts) * 1_000);
}
