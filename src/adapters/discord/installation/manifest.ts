import { neededBits, neededNames } from "./permissions.ts";

/** The address at which somebody who manages a server invites the bot, with exactly the permissions it needs. */
export function inviteLink(applicationId: string): string {
  const query = new URLSearchParams({
    client_id: applicationId,
    scope: "bot applications.commands",
    permissions: String(neededBits),
  });
  return `https://discord.com/oauth2/authorize?${query.toString()}`;
}

/** What to set and to open. */
export interface DiscordManifest {
  invite: string;
  /** Otherwise the link has a word in the place of the application's id. */
  isKnown: boolean;
  permissions: readonly string[];
  messageContent: boolean;
}

/** @param token with it the link names the application, whose id is the first part of it */
export function discordManifest({
  token,
  messageContent,
}: {
  token: string | undefined;
  messageContent: boolean;
}): DiscordManifest {
  const id = Buffer.from(token?.split(".")[0] ?? "", "base64url").toString();
  const isKnown = /^\d{17,20}$/.test(id);
  const invite = inviteLink(isKnown ? id : "APPLICATION_ID");
  return { invite, isKnown, permissions: neededNames, messageContent };
}

/** The same for the operator to read. */
export function formatDiscordManifest(manifest: DiscordManifest): string {
  const { invite, isKnown, permissions, messageContent } = manifest;
  return [
    "Invite link:",
    `  ${invite}`,
    ...(isKnown
      ? []
      : ["  (Set DISCORD_TOKEN, or replace APPLICATION_ID by the id under General Information.)"]),
    "Permissions:",
    ...permissions.map((name) => `  ${name}`),
    "Privileged intents, under Bot:",
    messageContent
      ? "  Message Content Intent (without it set discord.messageContent to false)"
      : "  none, as discord.messageContent is false",
  ].join("\n");
}
