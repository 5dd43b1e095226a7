import type { Method } from "./method.ts";
import { Refusal } from "./refusal.ts";

/** The exchange of a code for a token. https://docs.slack.dev/reference/methods/oauth.v2.access */
export const oauthMethods: Record<string, Method> = {
  "oauth.v2.access": {
    token: "none",
    args: "client_id client_secret code redirect_uri",
    run: (args, { workspace, scopes, oauth, botToken }) => {
      if (args.text("client_id") !== oauth.clientId) throw new Refusal("invalid_client_id");
      if (args.text("client_secret") !== oauth.clientSecret) throw new Refusal("bad_client_secret");
      // Good for one exchange.
      if (!oauth.codes.delete(args.text("code"))) throw new Refusal("invalid_code");
      return {
        access_token: botToken,
        token_type: "bot",
        scope: scopes.join(","),
        bot_user_id: workspace.bot.id,
        app_id: workspace.appId,
        team: { id: workspace.teamId, name: "Fake team" },
        enterprise: null,
        authed_user: { id: "U0INSTALLER" },
        is_enterprise_install: false,
        ...(oauth.kind === "organisation" && {
          team: null,
          enterprise: { id: "E0ORG", name: "Fake organisation" },
          is_enterprise_install: true,
        }),
        ...(oauth.kind === "rotating" && { refresh_token: "xoxe-1-refresh", expires_in: 43_200 }),
      };
    },
  },
};
