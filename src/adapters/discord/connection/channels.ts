import { ChannelType, type REST, Routes } from "discord.js";
import { z } from "zod";
import type { ThreadRef } from "../../../chat/threads.ts";
import { directWorkspace } from "./ids.ts";

/** A channel, thread or direct conversation. */
export interface ChannelInfo {
  id: string;
  /** The server, or {@link directWorkspace}. */
  workspace: string;
  name: string;
  /** `flat`: a channel that cannot have threads, so that the channel itself is one. */
  kind: { is: "channel" } | { is: "thread"; parent: string } | { is: "flat" };
}

const channelSchema = z.object({
  id: z.string(),
  type: z.number(),
  guild_id: z.string().optional(),
  name: z.string().nullish(),
  parent_id: z.string().nullish(),
});

const threadTypes = new Set<number>([
  ChannelType.AnnouncementThread,
  ChannelType.PublicThread,
  ChannelType.PrivateThread,
]);
const flatTypes = new Set<number>([
  ChannelType.DM,
  ChannelType.GroupDM,
  ChannelType.GuildVoice,
  ChannelType.GuildStageVoice,
]);

const capacity = 20_000;

export interface Channels {
  /** Asks Discord once. Rejects when Discord refuses or does not answer. */
  channel(id: string): Promise<ChannelInfo>;
  /** Learns a channel from an event; ignores one that says too little. */
  learn(channel: unknown, guild?: string): void;
}

/** Looks channels up, and caches them: a channel never changes its kind. */
export function createChannels(rest: REST): Channels {
  const channels = new Map<string, Promise<ChannelInfo>>();
  const remember = (id: string, channel: Promise<ChannelInfo>) => {
    channels.delete(id);
    channels.set(id, channel);
    const [oldest] = channels.keys();
    if (channels.size > capacity && oldest !== undefined) channels.delete(oldest);
  };
  return {
    channel(id) {
      const known = channels.get(id);
      if (known) return known;
      const request = rest.get(Routes.channel(id)).then((channel) => describe(channelSchema.parse(channel)));
      remember(id, request);
      request.catch(() => channels.delete(id));
      return request;
    },
    learn(channel, guild) {
      const { data } = channelSchema.safeParse(channel);
      if (!data || (threadTypes.has(data.type) && !data.parent_id)) return;
      remember(data.id, Promise.resolve(describe({ guild_id: guild, ...data })));
    },
  };
}

function describe({ id, type, guild_id, name, parent_id }: z.infer<typeof channelSchema>): ChannelInfo {
  const channel = { id, workspace: guild_id ?? directWorkspace, name: name ?? id };
  if (threadTypes.has(type) && parent_id) return { ...channel, kind: { is: "thread", parent: parent_id } };
  return { ...channel, kind: { is: flatTypes.has(type) ? "flat" : "channel" } };
}

/** The channel that people see in the list: the channel itself, or the one that a thread is in. */
export function parentChannelOf(channel: ChannelInfo): string {
  return channel.kind.is === "thread" ? channel.kind.parent : channel.id;
}

/** The thread that a message belongs to; in a channel, the one that starts at the message. */
export function threadOfMessageIn(channel: ChannelInfo, message: string): ThreadRef {
  const thread = channel.kind.is === "channel" ? message : channel.id;
  return { platform: "discord", workspace: channel.workspace, channel: parentChannelOf(channel), thread };
}
