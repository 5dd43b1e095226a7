import { ChannelType, type REST, Routes } from "discord.js";
import { z } from "zod";
import type { ThreadRef } from "../../../chat/threads.ts";
import { directWorkspace } from "./ids.ts";

/** A channel, thread or direct conversation, as far as it matters where something is said. */
export interface Room {
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

export interface Rooms {
  /** Asks Discord once. Throws when Discord refuses or does not answer. */
  room(id: string): Promise<Room>;
  /** Takes a channel that Discord has told of anyway; nothing where it told too little. */
  learn(channel: unknown, guild?: string): void;
}

/** Rooms never change their kind, so they are remembered. */
export function createRooms(rest: REST): Rooms {
  const rooms = new Map<string, Promise<Room>>();
  const remember = (id: string, room: Promise<Room>) => {
    rooms.delete(id);
    rooms.set(id, room);
    const [oldest] = rooms.keys();
    if (rooms.size > capacity && oldest !== undefined) rooms.delete(oldest);
  };
  return {
    room(id) {
      const known = rooms.get(id);
      if (known) return known;
      const asked = rest.get(Routes.channel(id)).then((channel) => describe(channelSchema.parse(channel)));
      remember(id, asked);
      asked.catch(() => rooms.delete(id));
      return asked;
    },
    learn(channel, guild) {
      const { data } = channelSchema.safeParse(channel);
      if (!data || (threadTypes.has(data.type) && !data.parent_id)) return;
      remember(data.id, Promise.resolve(describe({ guild_id: guild, ...data })));
    },
  };
}

function describe({ id, type, guild_id, name, parent_id }: z.infer<typeof channelSchema>): Room {
  const room = { id, workspace: guild_id ?? directWorkspace, name: name ?? id };
  if (threadTypes.has(type) && parent_id) return { ...room, kind: { is: "thread", parent: parent_id } };
  return { ...room, kind: { is: flatTypes.has(type) ? "flat" : "channel" } };
}

/** The channel of the list that the room is, or is in. */
export function channelOf(room: Room): string {
  return room.kind.is === "thread" ? room.kind.parent : room.id;
}

/** The thread that is talked in there; in a channel the one that starts at the message. */
export function threadAt(room: Room, message: string): ThreadRef {
  const thread = room.kind.is === "channel" ? message : room.id;
  return { platform: "discord", workspace: room.workspace, channel: channelOf(room), thread };
}
