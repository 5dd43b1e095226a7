import { type WebAPICallResult, WebAPIPlatformError, type WebClient } from "@slack/web-api";
import { pino } from "pino";
import { readNetworkCode } from "../../../agent/network/network-code.ts";
import { cutText } from "../../../agent/text/text.ts";
import { type Finding, PlatformRefused, PlatformUnreachable } from "../../../chat/adapter.ts";
import { createWebClient, refusalCode } from "../connection/web.ts";
import type { Identity } from "../inbound/events.ts";
import type { SlackAdapterOptions } from "../options.ts";
import { readNeededScope } from "../surface/errors.ts";
import { botScopes, eventsPath, installPath } from "./manifest.ts";
import type { resolveTeams } from "./resolve-teams.ts";
import { checkWatchedChannels, type WatchedChannel } from "./watched-channels.ts";

/** The two tokens, by the name of the variable that an operator sets. */
type TokenName = "SLACK_BOT_TOKEN" | "SLACK_APP_TOKEN";

const origin: Record<TokenName, { prefix: string; whereToFind: string }> = {
  SLACK_BOT_TOKEN: {
    prefix: "xoxb-",
    whereToFind: "copy the Bot User OAuth Token (xoxb-…) from OAuth & Permissions of your app",
  },
  SLACK_APP_TOKEN: {
    prefix: "xapp-",
    whereToFind: "make an app-level token (xapp-…) with the scope connections:write under Basic Information",
  },
};

/** Throws for a token that cannot be right, before anything is sent. Never with a token in the text. */
export function checkToken(name: TokenName, token: string): void {
  const { prefix, whereToFind } = origin[name];
  const other = name === "SLACK_BOT_TOKEN" ? "SLACK_APP_TOKEN" : "SLACK_BOT_TOKEN";
  if (token.startsWith(origin[other].prefix)) {
    throw new PlatformRefused(
      `${name} holds the ${origin[other].prefix} token, which belongs into ${other}; are they swapped?`,
    );
  }
  if (token === "") throw new PlatformRefused(`${name} is not set: ${whereToFind}.`);
  if (!token.startsWith(prefix))
    throw new PlatformRefused(`${name} is not an ${prefix} token: ${whereToFind}.`);
}

/** Who the bot token belongs to. */
interface Installation {
  identity: Identity;
  /** For people: the names of the bot and of its team. */
  description: string;
  /** One sentence if the app was not granted what it needs, for instance because it was not installed again. */
  warning?: string;
}

/** Asks Slack what the bot token is good for; throws an error that says what is wrong with it. */
export async function identify(client: WebClient): Promise<Installation> {
  const answer = await client.auth.test().catch((error: unknown) => {
    throw createSlackTokenError("SLACK_BOT_TOKEN", error);
  });
  const { team_id: teamId, user_id: botUserId, bot_id: botId, user, team } = answer;
  if (answer.is_enterprise_install) {
    throw new PlatformRefused(
      `SLACK_BOT_TOKEN is the token of an organisation-wide installation: let the organisation install the app with SLACK_CLIENT_ID (docs/slack.md), or ${origin.SLACK_BOT_TOKEN.whereToFind} after installing it into one workspace.`,
    );
  }
  if (!teamId || !botUserId || !botId) {
    throw new PlatformRefused(
      `SLACK_BOT_TOKEN belongs to no bot of a workspace: ${origin.SLACK_BOT_TOKEN.whereToFind}.`,
    );
  }
  const installation = { identity: { teamId, botUserId, botId }, description: `${user} in ${team}` };
  const missing = listMissingScopes(answer);
  if (missing.length === 0) return installation;
  const warning = `The Slack app lacks the scopes ${missing.join(", ")}: add them under OAuth & Permissions and install it again.`;
  return { ...installation, warning };
}

/** The scopes that we need and Slack has not granted, as far as its answer tells. */
export function listMissingScopes(answer: WebAPICallResult): string[] {
  const granted = answer.response_metadata?.scopes;
  return granted ? botScopes.filter((scope) => !granted.includes(scope)) : [];
}

/**
 * Checks the tokens against Slack. It asks for the address of a socket but does not open it: Slack would send events of
 * a running bot to that connection too.
 */
export async function checkSlack({
  teams,
  events,
  apiUrl,
  watched = [],
}: {
  teams: ReturnType<typeof resolveTeams>;
  watched?: readonly WatchedChannel[];
  events: SlackAdapterOptions["events"];
  apiUrl?: string;
}): Promise<Finding[]> {
  const server = { ...(apiUrl !== undefined && { apiUrl }), log: pino({ level: "silent" }) };
  const clientWith = (botToken: string) => createWebClient({ ...server, botToken }, { timeoutMs: 8_000 });
  const findings = await Promise.all([
    "client" in teams
      ? [{ level: "ok", text: `workspaces install it at ${installPath} of its public address` } as const]
      : toFindings(() => checkBot(teams.botToken, clientWith, watched)),
    events.kind === "socket"
      ? toFindings(() => checkSocket(events.appToken, clientWith))
      : [{ level: "note", text: requestsUnseen(events) } as const],
  ]);
  const isBroken = findings.flat().some(({ level }) => level === "error");
  return [...findings.flat(), ...(isBroken ? [] : [subscriptionsUnseen])];
}

async function checkBot(
  token: string,
  clientWith: (token: string) => WebClient,
  watched: readonly WatchedChannel[],
): Promise<Finding[]> {
  checkToken("SLACK_BOT_TOKEN", token);
  const client = clientWith(token);
  const { identity, description, warning } = await identify(client);
  return [
    { level: "ok", text: `${description}${warning ? "" : `, with all ${botScopes.length} scopes`}` },
    ...(warning ? [{ level: "warning", text: warning } as const] : []),
    ...(await checkWatchedChannels(client, identity.teamId, watched)),
  ];
}

async function checkSocket(token: string, clientWith: (token: string) => WebClient): Promise<Finding[]> {
  checkToken("SLACK_APP_TOKEN", token);
  await clientWith(token)
    .apps.connections.open({})
    .catch((error: unknown) => {
      throw createSlackTokenError("SLACK_APP_TOKEN", error);
    });
  return [{ level: "ok", text: "Socket Mode: Slack offers a connection" }];
}

/** Turns the errors of a check into findings. */
async function toFindings(check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check();
  } catch (error) {
    return [{ level: "error", text: error instanceof Error ? error.message : String(error) }];
  }
}

const subscriptionsUnseen: Finding = {
  level: "note",
  text: "Slack tells no app which events it is subscribed to: mention the bot in a channel where it is, and 👀 must appear; if not, compare Event Subscriptions with `heddle manifest slack`.",
};

function requestsUnseen({ host, port }: { host: string; port: number }): string {
  return `Slack's requests come in at http://${host}:${port}${eventsPath}; to see whether your proxy passes them on, press Retry beside the Request URL under Event Subscriptions.`;
}

/** Whether it says that the token was good once and never will be again. */
export function isDeadToken(error: unknown): boolean {
  return dead.has(refusalCode(error) ?? "");
}

const dead = new Set([
  "invalid_auth",
  "token_revoked",
  "token_expired",
  "account_inactive",
  "user_removed_from_team",
]);

/**
 * Refusals that say nothing of the token: too many have asked, or the workspace is being moved into an organisation.
 * https://docs.slack.dev/reference/methods/auth.test#errors
 */
const passing = new Set(["ratelimited", "team_added_to_org", "org_login_required"]);

/** Why a token does not work, in one sentence that names the variable, the cause and the way out. */
export function createSlackTokenError(name: TokenName, cause: unknown): Error {
  const code = refusalCode(cause);
  const text = `${name} ${explainProblem(name, cause)}`;
  const isRefused = code !== undefined && !passing.has(code);
  return isRefused ? new PlatformRefused(text, { cause }) : new PlatformUnreachable(text, { cause });
}

function explainProblem(name: TokenName, cause: unknown): string {
  const { whereToFind } = origin[name];
  switch (refusalCode(cause)) {
    case "invalid_auth":
    case "not_authed":
      return `is not a token that Slack knows: ${whereToFind}.`;
    case "token_revoked":
    case "token_expired":
    case "account_inactive":
    case "user_removed_from_team":
      return `is no longer valid (${refusalCode(cause)}): install the app again, then ${whereToFind}.`;
    case "team_disabled":
      return "belongs to a workspace that Slack has disabled: use the token of another workspace.";
    case "not_allowed_token_type":
      return `is a token of the wrong kind: ${whereToFind}.`;
    case "missing_scope": {
      const scope = cause instanceof WebAPIPlatformError ? readNeededScope(cause) : "";
      return `lacks the scope ${scope}: ${whereToFind}.`;
    }
    case "ratelimited":
    case "team_added_to_org":
    case "org_login_required":
      return `could not be checked because Slack does not serve at the moment (${refusalCode(cause)}).`;
    case undefined: {
      // Where something on the way answers, that may be a page.
      const why =
        readNetworkCode(cause) ?? cutText(cause instanceof Error ? cause.message : String(cause), 200);
      return `could not be checked because Slack was not reached (${why}): check the network and SLACK_API_URL.`;
    }
    default:
      return `was refused by Slack (${refusalCode(cause)}): ${whereToFind}.`;
  }
}
