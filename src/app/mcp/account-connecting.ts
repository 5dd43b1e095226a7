import type { Redis } from "ioredis";
import { type AccountConnecting } from "../../intake/questions/account-connecting.ts";
import { type ConnectingPages, createAccountConnecting, noAddress } from "../../accounts/connecting.ts";
import { createConnectingRecords } from "../../accounts/records.ts";
import { type McpConfig, takesPersons } from "../../agent/mcp/config.ts";
import type { Config } from "../../config/load.ts";
import type { LiveConfiguration } from "../configuration/live-configuration.ts";
import { openAccounts, readSealSecret } from "./mcp-accounts.ts";

/** Connects accounts of people, at the servers that take them at the time. */
export async function openAccountConnecting({
  config,
  configuration,
  redis,
}: {
  config: Config;
  configuration: Pick<LiveConfiguration, "derive">;
  redis: Redis;
}): Promise<AccountConnecting & ConnectingPages> {
  const mcp = await configuration.derive({ of: (loaded) => loaded.mcp, make: (loaded) => loaded.mcp });
  return createAccountConnecting({
    records: async () => createConnectingRecords(redis, await readSealSecret(config)),
    accounts: () => openAccounts(config, redis),
    address: config.settings.hooks.address,
    findServer: (name) => findEntry(mcp(), name),
    now: Date.now,
  });
}

function findEntry({ servers }: McpConfig, name: string): { url: URL; settings: object } | undefined {
  const server = servers.find((each) => each.name === name);
  if (server?.state !== "enabled" || server.endpoint.kind === "stdio" || !takesPersons(server))
    return undefined;
  return { url: server.endpoint.url, settings: server.endpoint.signIn ?? {} };
}

/** Why nobody can connect an account, for the model; undefined where people can. */
export function explainNoConnecting({ settings }: Config): string | undefined {
  return settings.hooks.address === undefined ? noAddress : undefined;
}
