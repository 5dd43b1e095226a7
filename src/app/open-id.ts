import type { OpenIdOptions } from "../adapters/console/server/sign-in-routes.ts";
import { ConfigError } from "../config/config-error.ts";
import type { Config } from "../config/load.ts";

/** The provider at which people sign in at the console, where the settings name one. @throws ConfigError */
export function readOpenId({
  settings,
  environment,
}: Pick<Config, "settings" | "environment">): OpenIdOptions | undefined {
  const { openIdConnect, people } = settings.console;
  if (!openIdConnect) return undefined;
  const { HEDDLE_OPENID_CLIENT_SECRET: clientSecret } = environment;
  if (clientSecret === undefined)
    throw new ConfigError(
      "console.openIdConnect needs the secret of its client: set HEDDLE_OPENID_CLIENT_SECRET.",
    );
  const { groups, ...client } = openIdConnect;
  return { ...client, clientSecret, roles: { people, groups } };
}
