import { type REST, Routes } from "discord.js";
import { PlatformUnreachable } from "../../../chat/adapter.ts";
import { createRest, type DiscordAccess } from "../connection/rest.ts";
import { identify, createDiscordTokenError } from "./check.ts";
import { inviteLink } from "./manifest.ts";

/** What a token is good for, for somebody who is about to use it. */
export type ApplicationTrial =
  | {
      ok: true;
      name: string;
      /** Whether it may read messages that do not mention it. */
      readsMessages: boolean;
      /** The servers that the bot is in. */
      guilds: { id: string; name: string }[];
      invite: string;
      /** One sentence each about permissions that are missing. */
      warnings: string[];
    }
  | { ok: false; isReached: boolean; problem: string };

export interface TrialAccess extends Pick<DiscordAccess, "token" | "apiUrl"> {
  timeoutMs: number;
}

/** Asks Discord who a token belongs to, without connecting. */
export async function tryDiscordToken({ timeoutMs, ...access }: TrialAccess): Promise<ApplicationTrial> {
  const rest = createRest(access, { timeoutMs });
  try {
    const found = await identify(rest, { ...access, messageContent: false });
    return {
      ok: true,
      name: found.name,
      readsMessages: found.readsMessages,
      guilds: found.guilds,
      invite: inviteLink(found.identity.applicationId),
      warnings: found.guilds.length === 0 ? [] : found.warnings,
    };
  } catch (error) {
    const isReached = !(error instanceof PlatformUnreachable);
    return { ok: false, isReached, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** The application's flag for apps in fewer servers than Discord reviews. */
const messageContentLimited = 1 << 19;

/**
 * Switches the Message Content intent on, which Discord lets apps do that it need not review.
 * https://docs.discord.com/developers/resources/application#edit-current-application
 */
export async function switchOnMessageContent({
  timeoutMs,
  ...access
}: TrialAccess): Promise<string | undefined> {
  const rest: REST = createRest(access, { timeoutMs });
  try {
    const { flags } = await readFlags(rest);
    await rest.patch(Routes.currentApplication(), { body: { flags: flags | messageContentLimited } });
    return undefined;
  } catch (error) {
    return createDiscordTokenError(error).message;
  }
}

async function readFlags(rest: REST): Promise<{ flags: number }> {
  const answer: unknown = await rest.get(Routes.currentApplication());
  const flags: unknown = answer && typeof answer === "object" && "flags" in answer ? answer.flags : 0;
  return { flags: typeof flags === "number" ? flags : 0 };
}
