import { DiscordAPIError, GatewayCloseCodes, type REST, Routes } from "discord.js";
import { z } from "zod";
import { readNetworkCode } from "../../../agent/network/network-code.ts";
import { type Finding, PlatformRefused, PlatformUnreachable } from "../../../chat/adapter.ts";
import { createRest, type DiscordAccess, refusalCode } from "../connection/rest.ts";
import type { Identity } from "../inbound/events.ts";
import { areRegistered } from "../interactions/commands.ts";
import { inviteLink } from "./manifest.ts";
import { findMissing, surveyGuild } from "./permissions.ts";
import { checkWatchedChannels, type WatchedChannel } from "./watched-channels.ts";

const whereToFind =
  "copy it from Bot → Reset Token of your app at https://discord.com/developers/applications";

const applicationSchema = z.object({
  id: z.string(),
  flags: z.number().default(0),
  bot: z.object({ id: z.string(), username: z.string() }),
});
const guildsSchema = z.array(z.object({ id: z.string(), name: z.string(), permissions: z.string() }));

/** The application may read messages that do not mention it: verified, or small enough not to need it. */
const messageContentFlags = (1 << 18) | (1 << 19);

/** Who the token belongs to. */
interface Installation {
  identity: Identity;
  /** Of the bot. */
  name: string;
  /** Whether it may read messages that do not mention it. */
  readsMessages: boolean;
  /** For the operator: the name of the bot and where it is. */
  description: string;
  /** The servers that it is in. */
  guilds: { id: string; name: string }[];
  /** One sentence each about what is missing. */
  warnings: string[];
}

/** Throws for a token that cannot be right, before anything is sent. Never with the token in the text. */
export function checkToken(token: string): void {
  if (token.startsWith("Bot "))
    throw new PlatformRefused("DISCORD_TOKEN begins with “Bot ”: remove that prefix.");
  if (token.split(".").length !== 3)
    throw new PlatformRefused(`DISCORD_TOKEN is not a bot token: ${whereToFind}.`);
}

/**
 * Asks Discord what the token is good for; throws an error that says what is wrong with it.
 *
 * @param options.closed what to tell the operator where nobody is listed who may give work
 */
export async function identify(
  rest: REST,
  { token, messageContent, closed }: { token: string; messageContent: boolean; closed?: string | undefined },
): Promise<Installation> {
  checkToken(token);
  const {
    id: applicationId,
    flags,
    bot,
  } = await rest.get(Routes.currentApplication()).then(
    (answer) => applicationSchema.parse(answer),
    (error: unknown) => {
      throw createDiscordTokenError(error);
    },
  );
  const readsMessages = (flags & messageContentFlags) !== 0;
  if (messageContent && !readsMessages) throw new PlatformRefused(intentMissing);
  const guilds = await rest.get(Routes.userGuilds()).then(
    (answer) => guildsSchema.parse(answer),
    (error: unknown) => {
      throw createDiscordTokenError(error);
    },
  );
  const invite = inviteLink(applicationId);
  const warnings = guilds.flatMap(({ name, permissions }) => {
    const missing = findMissing(permissions);
    return missing.length === 0
      ? []
      : [`In the server ${name} the bot lacks ${missing.join(", ")}: invite it again with ${invite}.`];
  });
  if (guilds.length === 0) warnings.push(`The bot is in no server: invite it with ${invite}.`);
  if (closed) warnings.push(guilds.length === 0 ? closed : `${closed} ${offerAccess(guilds)}`);
  const description = `${bot.username} in ${listGuilds(guilds)}`;
  const identity = { applicationId, botId: bot.id };
  return { identity, name: bot.username, readsMessages, description, guilds, warnings };
}

/** Servers that are named; more would fill the screen. */
const mostNamed = 5;

/** To be copied into heddle.yaml. */
function offerAccess(guilds: { id: string; name: string }[]): string {
  const named = guilds.slice(0, mostNamed);
  const ids = named.map(({ id }) => `"${id}"`).join(", ");
  const names = named.map(({ name }) => name).join(", ");
  return `For all members of ${names}: access: { discord: { guilds: [${ids}] } }`;
}

/** With their ids, which the operator lists in heddle.yaml. */
function listGuilds(guilds: { id: string; name: string }[]): string {
  if (guilds.length === 0) return "no server";
  const shown = guilds.slice(0, mostNamed).map(({ id, name }) => `${name} (${id})`);
  const more = guilds.length > shown.length ? ` and ${guilds.length - shown.length} more` : "";
  return shown.join(", ") + more;
}

const intentMissing =
  "The Discord app may not read messages: switch on Message Content Intent under Bot, or set discord.messageContent to false; then people have to mention the bot each time.";

/** Why there is no connection, in one sentence that names the cause and the remedy. */
export function createDiscordTokenError(cause: unknown): Error {
  const problem = explainProblem(cause);
  if (problem !== undefined) return new PlatformRefused(problem, { cause });
  const why = readNetworkCode(cause) ?? describeAnswer(cause);
  const text = `Discord was not reached (${why}): check the network and DISCORD_API_URL.`;
  return new PlatformUnreachable(text, { cause });
}

/** What has answered in Discord's place, or why nothing has. */
function describeAnswer(cause: unknown): string {
  if (cause instanceof DiscordAPIError) return `HTTP ${cause.status}`;
  return cause instanceof Error ? cause.message : String(cause);
}

const tokenUnknown = `DISCORD_TOKEN is not a token that Discord knows: ${whereToFind}.`;

/** Why Discord has ended a connection for good, in one sentence. @param code of the close */
export function explainClosing(code: GatewayCloseCodes): string {
  switch (code) {
    case GatewayCloseCodes.AuthenticationFailed:
      return tokenUnknown;
    case GatewayCloseCodes.DisallowedIntents:
      return intentMissing;
    default:
      return `it gave the code ${code}.`;
  }
}

/** Undefined where Discord has said nothing about it. */
function explainProblem(cause: unknown): string | undefined {
  const text = cause instanceof Error ? cause.message : String(cause);
  if (refusalCode(cause) !== undefined) {
    const isUnknown = cause instanceof Error && "status" in cause && cause.status === 401;
    return isUnknown ? tokenUnknown : `DISCORD_TOKEN was refused by Discord (${text}): ${whereToFind}.`;
  }
  // Messages of the gateway client, which has no codes for these.
  if (/disallowed intents/i.test(text)) return intentMissing;
  if (/invalid token|Authentication failed/i.test(text)) return tokenUnknown;
  if (/invalid shard|sharding is required/i.test(text)) {
    return `Discord refuses the shards (${text}): correct discord.shards in heddle.yaml or remove it.`;
  }
  return undefined;
}

/** Servers that are looked into; each takes three calls, and Discord limits how many a second. */
const surveyed = 10;

/** Checks the token without connecting, and what the bot may do in which server. */
export async function checkDiscord(
  access: Omit<DiscordAccess, "log"> & {
    messageContent: boolean;
    closed?: string | undefined;
    watched?: readonly WatchedChannel[];
  },
): Promise<Finding[]> {
  const rest = createRest(access, { timeoutMs: 8_000 });
  try {
    const { identity, description, guilds, warnings } = await identify(rest, access);
    const intent = access.messageContent ? "may read messages" : "reads only messages that mention it";
    const [commands, watched, ...places] = await Promise.all([
      checkCommands(rest, identity.applicationId),
      checkWatchedChannels(rest, access, access.watched ?? []),
      ...guilds.slice(0, surveyed).map((guild) => checkGuild(rest, guild)),
    ]);
    return [
      { level: "ok", text: `${description}; ${intent}` },
      ...warnings.map((text) => ({ level: "warning", text }) as const),
      commands,
      ...watched,
      ...places.flat(),
    ];
  } catch (error) {
    return [{ level: "error", text: error instanceof Error ? error.message : String(error) }];
  }
}

async function checkCommands(rest: REST, applicationId: string): Promise<Finding> {
  if (await areRegistered(rest, applicationId)) return { level: "ok", text: "commands: registered" };
  const text =
    "The commands (/agent, “Ask the agent about this”) are not registered correctly: `heddle start` registers them.";
  return { level: "warning", text };
}

async function checkGuild(rest: REST, { id, name }: { id: string; name: string }): Promise<Finding[]> {
  try {
    const { seen, hidden, lacking } = await surveyGuild(rest, id);
    return [
      { level: "ok", text: `${name}: the bot sees ${seen} of ${seen + hidden} text channels` },
      ...lacking.map(({ channel, missing }): Finding => {
        const text = `In #${channel} of ${name} the bot lacks ${missing.join(", ")}: grant it under Edit Channel → Permissions.`;
        return { level: "warning", text };
      }),
    ];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [{ level: "note", text: `${name}: Discord does not tell what the bot may do there (${why})` }];
  }
}
