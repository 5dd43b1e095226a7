import { ChannelType, OverwriteType, PermissionFlagsBits, type REST, Routes } from "discord.js";
import { z } from "zod";
import { fetchOwnId, refusalCode } from "../connection/rest.ts";

/** The permissions that the bot needs, by the names that Discord shows. */
const needed: Record<string, bigint> = {
  "View Channels": PermissionFlagsBits.ViewChannel,
  "Send Messages": PermissionFlagsBits.SendMessages,
  "Create Public Threads": PermissionFlagsBits.CreatePublicThreads,
  "Send Messages in Threads": PermissionFlagsBits.SendMessagesInThreads,
  "Attach Files": PermissionFlagsBits.AttachFiles,
  "Read Message History": PermissionFlagsBits.ReadMessageHistory,
  "Add Reactions": PermissionFlagsBits.AddReactions,
};

export const neededNames = Object.keys(needed);
export const neededBits = Object.values(needed).reduce((all, bit) => all | bit, 0n);

/**
 * Names of what is missing, given a set of permissions as Discord writes it.
 *
 * @param needless names that do not count
 */
export function findMissing(granted: string | bigint, needless: readonly string[] = []): string[] {
  const bits = BigInt(granted);
  if (bits & PermissionFlagsBits.Administrator) return [];
  return Object.entries(needed).flatMap(([name, bit]) =>
    bits & bit || needless.includes(name) ? [] : [name],
  );
}

const roleSchema = z.object({ id: z.string(), permissions: z.string() });
const memberSchema = z.object({ roles: z.array(z.string()) });
const channelSchema = z.object({
  name: z.string(),
  permission_overwrites: z
    .array(z.object({ id: z.string(), type: z.enum(OverwriteType), allow: z.string(), deny: z.string() }))
    .default([]),
});

const placeSchema = channelSchema.extend({ type: z.int() });

/** What the bot may do in the channels of a server. */
export interface GuildSurvey {
  /** Text channels that the bot sees. */
  seen: number;
  /** Text channels that it does not see, which usually is intended. */
  hidden: number;
  /** Where it sees a channel but lacks something that it has in the server. */
  lacking: { channel: string; missing: string[] }[];
}

const textual = new Set<number>([ChannelType.GuildText, ChannelType.GuildAnnouncement]);

/** Looks at all text channels of a server in three calls. Rejects when Discord does not answer. */
export async function surveyGuild(rest: REST, guild: string): Promise<GuildSurvey> {
  const [bot, all, channels] = await Promise.all([
    fetchOwnId(rest),
    rest.get(Routes.guildRoles(guild)).then((list) => z.array(roleSchema).parse(list)),
    rest.get(Routes.guildChannels(guild)).then((list) => z.array(placeSchema).parse(list)),
  ]);
  const { roles } = memberSchema.parse(await rest.get(Routes.guildMember(guild, bot)));
  const who = { guild, member: bot, roles, all };
  const everywhere = findMissing(permissionsIn({ name: "", permission_overwrites: [] }, who));
  const survey: GuildSurvey = { seen: 0, hidden: 0, lacking: [] };
  for (const { type, ...channel } of channels) {
    if (!textual.has(type)) continue;
    const missing = findMissing(permissionsIn(channel, who));
    if (missing.includes("View Channels")) {
      survey.hidden += 1;
      continue;
    }
    survey.seen += 1;
    const more = missing.filter((name) => !everywhere.includes(name));
    if (more.length > 0) survey.lacking.push({ channel: channel.name, missing: more });
  }
  return survey;
}

/** One sentence about what the bot lacks in a channel and where to grant it; undefined when Discord does not tell. */
export async function explainMissing(
  rest: REST,
  guild: string,
  channel: string,
): Promise<string | undefined> {
  try {
    const [bot, roles, place] = await Promise.all([
      fetchOwnId(rest),
      rest.get(Routes.guildRoles(guild)).then((list) => z.array(roleSchema).parse(list)),
      rest.get(Routes.channel(channel)).then((found) => channelSchema.parse(found)),
    ]);
    const member = memberSchema.parse(await rest.get(Routes.guildMember(guild, bot)));
    const missing = findMissing(
      permissionsIn(place, { guild, member: bot, roles: member.roles, all: roles }),
    );
    if (missing.length === 0) return undefined;
    return `In #${place.name} the bot lacks ${missing.join(", ")}: grant it under Edit Channel → Permissions.`;
  } catch (error) {
    if (refusalCode(error) !== 50_001) return undefined;
    return `The bot may not see channel ${channel}: grant it View Channels under Edit Channel → Permissions.`;
  }
}

/** https://docs.discord.com/developers/topics/permissions#permission-overwrites */
function permissionsIn(
  channel: z.infer<typeof channelSchema>,
  who: { guild: string; member: string; roles: string[]; all: z.infer<typeof roleSchema>[] },
): bigint {
  // The role of everybody has the id of the server.
  const roles = new Set([who.guild, ...who.roles]);
  const base = who.all.reduce(
    (bits, role) => (roles.has(role.id) ? bits | BigInt(role.permissions) : bits),
    0n,
  );
  if (base & PermissionFlagsBits.Administrator) return base;
  const overwrites = channel.permission_overwrites;
  const layers = [
    overwrites.filter(({ id }) => id === who.guild),
    overwrites.filter(({ id, type }) => type === OverwriteType.Role && id !== who.guild && roles.has(id)),
    overwrites.filter(({ id, type }) => type === OverwriteType.Member && id === who.member),
  ];
  return layers.reduce((bits, layer) => {
    const deny = layer.reduce((all, overwrite) => all | BigInt(overwrite.deny), 0n);
    const allow = layer.reduce((all, overwrite) => all | BigInt(overwrite.allow), 0n);
    return (bits & ~deny) | allow;
  }, base);
}
