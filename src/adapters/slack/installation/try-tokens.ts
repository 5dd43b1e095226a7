import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { AppsManifestValidateArguments, WebClient } from "@slack/web-api";
import { pino } from "pino";
import { PlatformUnreachable } from "../../../chat/adapter.ts";
import { createWebClient, refusalCode, type SlackServer } from "../connection/web.ts";
import { checkToken, identify, createSlackTokenError } from "./check.ts";

/** Comes with the program. */
export const iconFile = fileURLToPath(new URL("../../../../docs/images/icon.png", import.meta.url));

/** Where to try, and for how long. */
export interface TrialOptions {
  apiUrl?: string;
  timeoutMs: number;
}

/** `isReached`: the refusal is Slack's own, so trying again with the same token is useless. */
export type TokenTrial<Good> = ({ ok: true } & Good) | { ok: false; isReached: boolean; problem: string };

export interface BotTrial {
  /** For people: the names of the bot and of its team. */
  description: string;
  /** What the app was not granted, in one sentence. */
  warning: string | undefined;
  /** The app that the token belongs to, where Slack tells. */
  appId: string | undefined;
}

/** Tries a bot token by `auth.test` and looks up its app, for which Slack wants `users:read`. */
export async function tryBotToken(token: string, options: TrialOptions): Promise<TokenTrial<BotTrial>> {
  return await explainFailure(async () => {
    checkToken("SLACK_BOT_TOKEN", token);
    const client = clientOf(token, options);
    const { description, warning, identity } = await identify(client);
    // https://docs.slack.dev/reference/methods/bots.info
    const info = await client.bots
      .info({ bot: identity.botId, team_id: identity.teamId })
      .catch(() => undefined);
    return { description, warning, appId: info?.bot?.app_id };
  });
}

/** Tries an app-level token by asking for the address of a socket, which is not opened. */
export async function tryAppToken(
  token: string,
  options: TrialOptions,
): Promise<TokenTrial<{ appId: string | undefined }>> {
  return await explainFailure(async () => {
    checkToken("SLACK_APP_TOKEN", token);
    await clientOf(token, options)
      .apps.connections.open({})
      .catch((error: unknown) => {
        throw createSlackTokenError("SLACK_APP_TOKEN", error);
      });
    // Not documented by Slack, but so in every token; without it the two tokens cannot be compared.
    return { appId: /^xapp-\d+-(A[A-Z0-9]+)-/.exec(token)?.[1] };
  });
}

export type AppCreation =
  | { ok: true; appId: string; installUrl: string; hasIcon: boolean }
  /** One line each. */
  | { ok: false; problems: string[] };

/**
 * Makes the app from its manifest with a configuration token, after Slack has validated it.
 * https://docs.slack.dev/reference/methods/apps.manifest.create
 */
export async function createSlackApp(
  configurationToken: string,
  manifest: Record<string, unknown>,
  options: TrialOptions,
): Promise<AppCreation> {
  const client = clientOf(configurationToken, options);
  try {
    // The SDK's type lists what it knows; what is right is for Slack to judge.
    const argument = { manifest: manifest as AppsManifestValidateArguments["manifest"] };
    await client.apps.manifest.validate(argument);
    const { app_id: appId, oauth_authorize_url: installUrl } = await client.apps.manifest.create(argument);
    if (!appId || !installUrl)
      return { ok: false, problems: ["Slack did not name the app that it has made."] };
    return { ok: true, appId, installUrl, hasIcon: await setIcon(client, appId) };
  } catch (error) {
    return { ok: false, problems: listProblems(error) };
  }
}

/** A manifest cannot name one. The app works as well without, so that a refusal is only told. */
async function setIcon(client: WebClient, appId: string): Promise<boolean> {
  try {
    // The SDK (8.2.0) has no name for it. https://docs.slack.dev/reference/methods/apps.icon.set
    const { ok } = await client.apiCall("apps.icon.set", { app_id: appId, file: await readFile(iconFile) });
    return ok;
  } catch {
    return false;
  }
}

function listProblems(error: unknown): string[] {
  switch (refusalCode(error)) {
    case "invalid_manifest":
      return ["Slack refuses the manifest:", ...readManifestErrors(error)];
    case "token_expired":
    case "invalid_auth":
    case "not_authed":
    case "token_revoked":
      return [
        "Slack does not take this configuration token; it is good for 12 hours. Make a new one at https://api.slack.com/apps, under “Your App Configuration Tokens”.",
      ];
    case undefined:
      return [
        `Slack was not reached (${error instanceof Error ? error.message : String(error)}): check the network.`,
      ];
    default:
      return [`Slack refused to make the app (${refusalCode(error)}).`];
  }
}

function readManifestErrors(error: unknown): string[] {
  const data: unknown = error instanceof Error && "data" in error ? error.data : undefined;
  const errors: unknown = data && typeof data === "object" && "errors" in data ? data.errors : [];
  return (Array.isArray(errors) ? errors : []).flatMap((each: unknown) => {
    if (typeof each !== "object" || each === null || !("message" in each)) return [];
    return [`${"pointer" in each ? `${String(each.pointer)}: ` : ""}${String(each.message)}`];
  });
}

async function explainFailure<Good extends object>(trial: () => Promise<Good>): Promise<TokenTrial<Good>> {
  try {
    return { ok: true, ...(await trial()) };
  } catch (error) {
    const isReached = !(error instanceof PlatformUnreachable);
    return { ok: false, isReached, problem: error instanceof Error ? error.message : String(error) };
  }
}

function clientOf(botToken: string, { apiUrl, timeoutMs }: TrialOptions) {
  const server: SlackServer = { ...(apiUrl !== undefined && { apiUrl }), log: pino({ level: "silent" }) };
  return createWebClient({ ...server, botToken }, { timeoutMs });
}
