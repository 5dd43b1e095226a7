import type { Redis } from "ioredis";
import type { AccountStore } from "../agent/mcp-account.ts";
import type { Config } from "../config/load.ts";
import { openSecretFile } from "../config/secret-file.ts";
import { createAccountStore } from "../queue/stores/mcp-accounts.ts";

const keyFile = "seal.key";

/** The installation's accounts at MCP servers. Makes the key that seals them where there is none. */
export async function openAccounts(
  { environment, dataDir }: Pick<Config, "environment" | "dataDir">,
  redis: Redis,
): Promise<AccountStore> {
  return createAccountStore(redis, environment.HEDDLE_SEAL_KEY ?? (await openSecretFile(dataDir, keyFile)));
}
