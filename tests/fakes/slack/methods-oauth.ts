import type { FakeOAuth, Method } from "./method.ts";
import { Refusal } from "./refusal.ts";

/** The exchange of a code for a token. https://docs.slack.dev/reference/methods/oauth.v2.access */
export const oauthMethods: Record<string, Method> = {
  "oauth.v2.access": {
    token: "none",
    args: "client_id client_secret code redirect_uri grant_type refresh_token",
    run: (args, { workspace, scopes, oauth, botToken }) => {
      if (args.text("client_id") !== oauth.clientId) throw new Refusal("invalid_client_id");
      if (args.text("client_secret") !== oauth.clientSecret) throw new Refusal("bad_client_secret");
      // Each is good for one exchange.
      if (args.optionalText("grant_type") === "refresh_token") {
        if (oauth.kind !== "rotating") throw new Refusal("token_rotation_not_enabled");
        if (args.text("refresh_token") !== oauth.refreshToken) throw new Refusal("invalid_refresh_token");
      } else if (!oauth.codes.delete(args.text("code"))) throw new Refusal("invalid_code");
      const rotating = oauth.kind === "rotating" && issue(oauth, botToken);
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
          enterprise: { id: workspace.organisation?.id ?? "E0ORG", name: "Fake organisation" },
          is_enterprise_install: true,
        }),
        ...rotating,
      };
    },
  },
};

/** A token of its own kind, for twelve hours. https://docs.slack.dev/authentication/using-token-rotation */
function issue(oauth: FakeOAuth, botToken: string) {
  const number = oauth.tokens.size + 1;
  const token = `xoxe.${botToken}-${number}`;
  oauth.tokens.set(token, "good");
  oauth.refreshToken = `xoxe-${number}-refresh`;
  return { access_token: token, refresh_token: oauth.refreshToken, expires_in: 43_200 };
}
