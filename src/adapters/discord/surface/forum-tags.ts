import { ChannelFlags, ChannelType, type REST, Routes } from "discord.js";
import { z } from "zod";
import type { MarkOptions, MessageMark } from "../../../chat/outbound.ts";
import type { MessageRef } from "../../../chat/threads.ts";
import { locateMessage } from "../connection/ids.ts";

/** Names of the tags that posts of forums have while they are worked on, and once the last answer is there. */
export interface ForumTagNames {
  working?: string | undefined;
  done?: string | undefined;
}

/** Gives a forum's post the tag for how it stands, where the message that is marked is in one. */
export type ShowForumTag = (ref: MessageRef, mark: MessageMark, how: MarkOptions) => Promise<void>;

const forumSchema = z.object({
  type: z.int(),
  flags: z.int().catch(0),
  available_tags: z.array(z.object({ id: z.string(), name: z.string() })).catch([]),
});
const postSchema = z.object({ applied_tags: z.array(z.string()).catch([]) });
const forumTypes = new Set<number>([ChannelType.GuildForum, ChannelType.GuildMedia]);
/** https://docs.discord.com/developers/resources/channel#modify-channel-json-params-thread */
const mostTags = 5;
const freshMs = 10 * 60_000;
const remembered = 1_000;

type Forum = z.infer<typeof forumSchema>;

/**
 * Of a forum that has none of these tags, and of all other channels, nothing is changed; people's own tags stay. A tag is a
 * courtesy: what Discord refuses, for want of the right to manage threads, is left.
 */
export function createForumTags(rest: REST, names: ForumTagNames): ShowForumTag {
  const forums = new Map<string, { since: number; forum: Promise<Forum> }>();
  const forumOf = (id: string): Promise<Forum> => {
    const known = forums.get(id);
    if (known && Date.now() - known.since < freshMs) return known.forum;
    const forum = rest.get(Routes.channel(id)).then((channel) => forumSchema.parse(channel));
    if (forums.size >= remembered) forums.clear();
    forums.set(id, { since: Date.now(), forum });
    forum.catch(() => forums.delete(id));
    return forum;
  };

  const show: ShowForumTag = async (ref, mark, how) => {
    const { where } = locateMessage(ref);
    if (where === ref.channel) return;
    const { type, flags, available_tags } = await forumOf(ref.channel);
    if (!forumTypes.has(type)) return;
    const idOf = (name: string | undefined) =>
      available_tags.find((tag) => name !== undefined && tag.name.toLowerCase() === name.toLowerCase())?.id;
    const own = [idOf(names.working), idOf(names.done)].filter((id) => id !== undefined);
    if (own.length === 0) return;
    const wanted = idOf(chooseName(names, mark, how));
    const { applied_tags: before } = postSchema.parse(await rest.get(Routes.channel(where)));
    const kept = before.filter((id) => !own.includes(id));
    const next = wanted === undefined ? kept : [...kept.slice(0, mostTags - 1), wanted];
    const isMissing = next.length === 0 && (flags & ChannelFlags.RequireTag) !== 0;
    if (isMissing || next.toSorted().join() === before.toSorted().join()) return;
    await rest.patch(Routes.channel(where), { body: { applied_tags: next } });
  };
  return (ref, mark, how) => show(ref, mark, how).catch(() => undefined);
}

function chooseName(names: ForumTagNames, mark: MessageMark, { paused }: MarkOptions): string | undefined {
  switch (mark) {
    case "taken":
    case "waiting":
      return names.working;
    case "answered":
      return paused ? names.working : names.done;
    case "stopped":
    case "failed":
      return undefined;
  }
}
