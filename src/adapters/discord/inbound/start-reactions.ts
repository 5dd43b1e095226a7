import { type REST, Routes } from "discord.js";
import type { BaseLogger } from "pino";
import { z } from "zod";
import type { Author, ContextMessage, InboundEvent } from "../../../chat/inbound.ts";
import { startText } from "../../../chat/start-reaction.ts";
import { retryPassing, SurfaceError } from "../../../chat/surface.ts";
import type { ChannelInfo, Channels } from "../connection/channels.ts";
import { readTime } from "../connection/ids.ts";
import type { People } from "../connection/people.ts";
import { announce, toMessage } from "../interactions/tasks.ts";
import { toSurfaceError } from "../surface/errors.ts";
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
  log: Pick<BaseLogger, "warn">;
}

/** While Discord limits its rate or does not answer; the events of the channel wait behind it. */
const insistence = { attempts: 3, leastMs: 500, mostMs: 5_000 };

const postedSchema = z.object({ id: z.string() });

/**
 * Creates what reads reactions that give a message to the agent: whoever puts one there asks, under their own rights, and
 * the message is quoted. The question is posted as a reply to it, where everybody can see who has asked. A reaction
 * of somebody whose tasks are not accepted does nothing, for Discord has no way to tell them alone; for the same reason the
 * log alone says where Discord did not let the message be read or answered.
 */
export function createStartReactions(
  options: StartReactionOptions,
): (event: unknown) => Promise<InboundEvent | undefined> {
  const { rest, identity, channels, people } = options;
  const names = new Set((options.startReactions ?? []).map(readEmojiName));

  /** Posts the question and reads what it is about; undefined where there is nothing to read. */
  const ask = async (
    data: z.infer<typeof reactionSchema>,
    author: Author,
    { id: channel, workspace }: ChannelInfo,
  ): Promise<{ about: ContextMessage; id: string } | undefined> => {
    const message = await rest.get(Routes.channelMessage(channel, data.message_id));
    const about = await fetchQuote(message, { ...identity, people, workspace });
    if (!about) return undefined;
    const posted = await rest.post(Routes.channelMessages(channel), {
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
    return { about, id: postedSchema.parse(posted).id };
  };

  return async (event) => {
    if (names.size === 0) return undefined;
    const { data } = reactionSchema.safeParse(event);
    if (!data || data.user_id === identity.botId || !names.has(readEmojiName(data.emoji.name ?? "")))
      return undefined;
    const channel = await channels.channel(data.channel_id);
    const author = await findReactor(data, channel, people);
    if (!options.mayAsk(channel.workspace, author)) return undefined;
    try {
      const asked = await retryPassing(
        () =>
          ask(data, author, channel).catch((error: unknown) => {
            throw toSurfaceError("answering a reaction", error);
          }),
        insistence,
      );
      if (!asked) return undefined;
      const isDirect = data.guild_id === undefined;
      const task = { text: startText, about: asked.about };
      return toMessage({ author, isDirect, at: readTime(asked.id) }, channel, task, asked.id);
    } catch (error) {
      // Reactions are not read again, and there is nowhere to say it.
      if (!(error instanceof SurfaceError)) throw error;
      options.log.warn(`A reaction gave a message to the agent, and nothing came of it. ${error.message}`);
      return undefined;
    }
  };
}
