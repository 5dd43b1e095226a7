import { checkConsole } from "../../adapters/console/server/listen.ts";
import type { CommandContext } from "../../app/command-context.ts";
import { consoleTokenFile, findConsoleOthers } from "../../app/console-token.ts";
import { readOpenId } from "../../app/open-id.ts";
import { readInstance } from "../../app/process/instance.ts";
import type { Finding } from "../../chat/adapter.ts";
import type { Config } from "../../config/load.ts";

/** Whether the console can listen there, and who can sign in. */
export async function checkConsoleAddress({ config }: CommandContext): Promise<Finding[]> {
  const { HEDDLE_HOST: host, HEDDLE_PORT: port, HEDDLE_CONSOLE_TOKEN: token } = config.environment;
  const others = await findConsoleOthers(config);
  const file = consoleTokenFile(config.dataDir);
  return [
    await checkConsole({
      ...{ host, port, token, instance: readInstance(config) },
      hasProvider: config.settings.console.openIdConnect !== undefined,
    }),
    ...(await checkSignIn(config)),
    ...(others === undefined
      ? []
      : [{ level: "note" as const, text: `it asks for the token in ${file}, because of ${others}` }]),
  ];
}

/** Shorter than a check may take, ms. */
const providerMs = 8_000;

/** The provider at which people sign in, where there is one. */
async function checkSignIn(config: Config): Promise<Finding[]> {
  const provider = readOpenId(config);
  if (!provider) return [];
  const { describeClient } = await import("../../adapters/console/server/sign-in-routes.ts");
  const { findProviderProblem } = await import("../../adapters/console/server/open-id-provider.ts");
  const client = { ...describeClient(provider), stepMs: providerMs };
  const problem = await findProviderProblem(client);
  if (problem !== undefined) {
    const text = `nobody can sign in at ${client.issuer} (${problem}): correct console.openIdConnect.issuer, or look at the network`;
    return [{ level: "error", text }];
  }
  const text = `people sign in at ${client.issuer}, which has to know the redirect URI ${client.redirectUri} and, for signing out, ${client.signedOutUri}`;
  return [{ level: "ok", text }];
}
