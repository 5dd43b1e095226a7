import { ChannelType, type REST, Routes } from "discord.js";
import { z } from "zod";
import type { ThreadRef } from "../../../chat/threads.ts";
import { directWorkspace } from "./ids.ts";

/** A channel, thread or direct conversation, as far as it matters where something is said. */
export interface ChannelInfo {
  id: string;
  /** The server, or {@link directWorkspace}. */
  workspace: string;
  name: string;
  /** `flat`: where there can be no threads, so that the room itself is one. */
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
  /** Asks Discord once. Throws when Discord refuses or does not answer. */
  channel(id: string): Promise<ChannelInfo>;
  /** Takes a channel that Discord has told of anyway; nothing where it told too little. */
  learn(channel: unknown, guild?: string): void;
}

/** Rooms never change their kind, so they are remembered. */
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
      const asked = rest.get(Routes.channel(id)).then((channel) => describe(channelSchema.parse(channel)));
      remember(id, asked);
      asked.catch(() => channels.delete(id));
      return asked;
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

/** The channel of the list that the room is, or is in. */
export function parentChannelOf(channel: ChannelInfo): string {
  return channel.kind.is === "thread" ? channel.kind.parent : channel.id;
}

/** The thread that is talked in there; in a channel the one that starts at the message. */
export function threadOfMessageIn(channel: ChannelInfo, message: string): ThreadRef {
  const thread = channel.kind.is === "channel" ? message : channel.id;
  return { platform: "discord", workspace: channel.workspace, channel: parentChannelOf(channel), thread };
}
