import type { Redis } from "ioredis";
import type { Accounts } from "../../agent/contracts/mcp-account.ts";
import { disconnectAccount } from "../../agent/mcp/sign-in/disconnect.ts";
import type { Config } from "../../config/load.ts";
import { openSecretFile } from "../../config/secret-file.ts";
import type { OwnAccounts } from "../../intake/text-commands/disconnect.ts";
import { createAccountStore } from "../../queue/stores/mcp-accounts.ts";

/** The file of the data folder with what seals in Redis, where the environment has none. */
const sealKeyFile = "seal.key";

/** The accounts at MCP servers, of the installation and of people. Makes the key that seals them where there is none. */
export async function openAccounts(
  config: Pick<Config, "environment" | "dataDir">,
  redis: Redis,
): Promise<Accounts> {
  return createAccountStore(redis, await readSealSecret(config));
}

/** What seals them; the same for all processes. */
export async function readSealSecret({
  environment,
  dataDir,
}: Pick<Config, "environment" | "dataDir">): Promise<string> {
  return environment.HEDDLE_SEAL_KEY ?? (await openSecretFile(dataDir, sealKeyFile));
}

/** Chats expect an answer within three seconds. */
const chatWaitMs = 1_500;

/** What people do about their own accounts in a chat. */
export function createOwnAccounts(open: () => Promise<Accounts>): OwnAccounts {
  return {
    async list(person) {
      const all = await (await open()).list();
      return all.filter((each) => each.person === person).map(({ server }) => server);
    },
    async disconnect(person, server) {
      return await disconnectAccount((await open()).of(person), server, chatWaitMs);
    },
  };
}

/** Disconnects all accounts of a person (`platform:workspace:id`); resolves with the servers they were at. */
export async function disconnectAll(accounts: Accounts, person: string): Promise<string[]> {
  const servers = (await accounts.list())
    .filter((each) => each.person === person)
    .map(({ server }) => server);
  for (const server of servers) await disconnectAccount(accounts.of(person), server);
  return servers;
}
