import type { HttpAddress } from "../connection/http.ts";
import type { SlackAdapterOptions } from "../options.ts";
import type { OAuthClient } from "./oauth-client.ts";

/** What an operator sets for Slack. */
export interface SlackVariables {
  SLACK_BOT_TOKEN?: string | undefined;
  SLACK_APP_TOKEN?: string | undefined;
  SLACK_SIGNING_SECRET?: string | undefined;
  SLACK_CLIENT_ID?: string | undefined;
  SLACK_CLIENT_SECRET?: string | undefined;
  SLACK_STATE_SECRET?: string | undefined;
}

/** Resolves which teams we serve: the one of the bot token, or all that install the app. Throws what to set. */
export function resolveTeams(
  variables: SlackVariables,
  allowed: readonly string[],
): { botToken: string } | { client: OAuthClient } {
  const { SLACK_BOT_TOKEN, SLACK_CLIENT_ID, SLACK_CLIENT_SECRET, SLACK_STATE_SECRET } = variables;
  if (!SLACK_CLIENT_ID) return { botToken: SLACK_BOT_TOKEN ?? "" };
  if (SLACK_BOT_TOKEN) {
    throw new Error(
      "SLACK_BOT_TOKEN and SLACK_CLIENT_ID exclude each other: the first is for one workspace, the second lets several install the app.",
    );
  }
  if (!SLACK_CLIENT_SECRET || !SLACK_STATE_SECRET) {
    throw new Error(
      "SLACK_CLIENT_ID needs SLACK_CLIENT_SECRET (Basic Information of your app) and SLACK_STATE_SECRET (a long random text of your own, which must stay the same).",
    );
  }
  if (allowed.length === 0) {
    throw new Error(
      "SLACK_CLIENT_ID lets workspaces install the app, but slack.workspaces in heddle.yaml allows none: list their ids, e.g. [T012345].",
    );
  }
  return {
    client: {
      clientId: SLACK_CLIENT_ID,
      clientSecret: SLACK_CLIENT_SECRET,
      stateSecret: SLACK_STATE_SECRET,
      allowed,
    },
  };
}

/** Resolves how events arrive: by Socket Mode where there is a token for it. Throws what to set. */
export function resolveTransport(
  { SLACK_APP_TOKEN, SLACK_SIGNING_SECRET, SLACK_CLIENT_ID }: SlackVariables,
  address: HttpAddress,
): SlackAdapterOptions["events"] {
  if (SLACK_CLIENT_ID && (SLACK_APP_TOKEN || !SLACK_SIGNING_SECRET)) {
    throw new Error(
      "With SLACK_CLIENT_ID events come as requests: set SLACK_SIGNING_SECRET (Basic Information of your app) and no SLACK_APP_TOKEN.",
    );
  }
  if (!SLACK_APP_TOKEN && SLACK_SIGNING_SECRET) {
    return { kind: "http", signingSecret: SLACK_SIGNING_SECRET, ...address };
  }
  return { kind: "socket", appToken: SLACK_APP_TOKEN ?? "" };
}
