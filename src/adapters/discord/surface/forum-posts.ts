import { ChannelFlags, type REST, Routes, ThreadAutoArchiveDuration } from "discord.js";
import { z } from "zod";
import type { ChannelRef } from "../../../chat/threads.ts";
import { makeTitle } from "../../../chat/title.ts";
import { compareByTime, toSnowflake } from "../connection/ids.ts";
import { readableText } from "../inbound/text.ts";
import { nameChars } from "./threads.ts";

/** A forum takes posts, which are threads, and no messages of its own. */
export interface ForumPost {
  channel: ChannelRef;
  /** What its first message has, as Discord takes it. */
  message: { content?: string | undefined };
  /** It may have been made since then, ms since the epoch. */
  since: number | undefined;
}

const tagSchema = z.object({ id: z.string(), moderated: z.boolean().catch(false) });
const forumSchema = z.object({ flags: z.int().catch(0), available_tags: z.array(tagSchema).catch([]) });
const activeSchema = z.object({
  threads: z.array(z.object({ id: z.string(), name: z.string(), parent_id: z.string().nullish() })),
});
const idSchema = z.object({ id: z.string() });

/**
 * Makes a post in a forum; gives its id, which its first message has too. Where the forum wants a tag it gets the first that
 * is not for moderators alone: which one fits is for people to say.
 * https://docs.discord.com/developers/resources/channel#start-thread-in-forum-or-media-channel
 */
export async function makeForumPost(rest: REST, { channel, message, since }: ForumPost): Promise<string> {
  const name =
    makeTitle(
      readableText(message.content ?? "", "", () => undefined),
      nameChars,
    ) || "Task";
  // Discord takes no nonce here.
  const earlier = since === undefined ? undefined : await findForumPost(rest, channel, name, since);
  if (earlier !== undefined) return earlier;
  const tag = await chooseTag(rest, channel);
  const body = {
    ...{ name, message, auto_archive_duration: ThreadAutoArchiveDuration.OneDay },
    ...(tag !== undefined && { applied_tags: [tag] }),
  };
  return idSchema.parse(await rest.post(Routes.threads(channel.channel), { body })).id;
}

/** The tag without which the forum takes no post; undefined where it takes posts without one. */
async function chooseTag(rest: REST, { channel }: ChannelRef): Promise<string | undefined> {
  const { flags, available_tags } = forumSchema.parse(await rest.get(Routes.channel(channel)));
  if ((flags & ChannelFlags.RequireTag) === 0) return undefined;
  return (available_tags.find(({ moderated }) => !moderated) ?? available_tags[0])?.id;
}

async function findForumPost(
  rest: REST,
  { workspace, channel }: ChannelRef,
  name: string,
  since: number,
): Promise<string | undefined> {
  const { threads } = activeSchema.parse(await rest.get(Routes.guildActiveThreads(workspace)));
  const start = toSnowflake(since);
  return threads.find(
    (one) => one.parent_id === channel && one.name === name && compareByTime(one.id, start) >= 0,
  )?.id;
}
