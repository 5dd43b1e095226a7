import { type REST, Routes } from "discord.js";
import { z } from "zod";
import type { Author, InboundEvent } from "../../../chat/inbound.ts";
import { startText } from "../../../chat/start-reaction.ts";
import type { Channels } from "../connection/channels.ts";
import { readTime } from "../connection/ids.ts";
import type { People } from "../connection/people.ts";
import { announce, toMessage } from "../interactions/tasks.ts";
import { toNonce } from "../surface/posting.ts";
import { fetchQuote } from "../surface/quotes.ts";
import { findReactor, type Identity, reactionSchema } from "./events.ts";
import { readEmojiName } from "./text.ts";

interface StartReactionOptions {
  rest: REST;
  identity: Identity;
  channels: Channels;
  people: People;
  /** Whether that person's tasks are accepted: the bot posts no others in its own name. */
  mayAsk(workspace: string, author: Author): boolean;
  /** Emoji; of custom ones the name. */
  startReactions?: readonly string[];
}

const postedSchema = z.object({ id: z.string() });

/**
 * Creates what reads reactions that give a message to the agent: whoever puts one there asks, under their own rights, and
 * the message is quoted. The question is posted as a reply to it, where everybody can see who has asked. A reaction
 * of somebody whose tasks are not accepted does nothing, for Discord has no way to tell them alone.
 */
export function createStartReactions(
  options: StartReactionOptions,
): (event: unknown) => Promise<InboundEvent | undefined> {
  const { rest, identity, channels, people } = options;
  const names = new Set((options.startReactions ?? []).map(readEmojiName));
  return async (event) => {
    if (names.size === 0) return undefined;
    const { data } = reactionSchema.safeParse(event);
    if (!data || data.user_id === identity.botId || !names.has(readEmojiName(data.emoji.name ?? "")))
      return undefined;
    const channel = await channels.channel(data.channel_id);
    const { workspace } = channel;
    const author = await findReactor(data, channel, people);
    if (!options.mayAsk(workspace, author)) return undefined;
    const message = await rest.get(Routes.channelMessage(channel.id, data.message_id));
    const about = await fetchQuote(message, { ...identity, people, workspace });
    if (!about) return undefined;
    const posted = await rest.post(Routes.channelMessages(channel.id), {
      body: {
        content: announce(author, { text: startText, about }),
        // https://docs.discord.com/developers/resources/message#allowed-mentions-object
        allowed_mentions: { parse: [] },
        message_reference: { message_id: data.message_id, fail_if_not_exists: false },
        // Told again soon, as after a connection is resumed, it is the same message.
        nonce: toNonce(`start:${data.user_id}:${data.message_id}`),
        enforce_nonce: true,
      },
    });
    const { id } = postedSchema.parse(posted);
    const isDirect = data.guild_id === undefined;
    return toMessage({ author, isDirect, at: readTime(id) }, channel, { text: startText, about }, id);
  };
}
