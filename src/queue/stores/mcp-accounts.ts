import type { Redis } from "ioredis";
import { type Account, accountSchema, type AccountStore } from "../../agent/mcp-account.ts";
import { createSealedBox } from "../../agent/sealed-box.ts";
import { keys } from "../redis/keys.ts";
import { takeLock } from "../redis/lock.ts";

/** A process that dies while it renews holds the others up for so long, seconds. */
const renewingSeconds = 15;

/** An account is there and cannot be used; the message says what to do. */
export class UnreadableAccount extends Error {
  override readonly name = "UnreadableAccount";
}

/** Keeps the accounts in Redis, sealed. @param secret the same for all processes */
export function createAccountStore(redis: Redis, secret: string): AccountStore {
  const box = createSealedBox(secret, "heddle mcp accounts");
  return {
    async read(server) {
      const sealed = await redis.hget(keys.mcpAccounts, server);
      return sealed === null ? undefined : parse(server, sealed);
    },
    async write(server, account) {
      await redis.hset(keys.mcpAccounts, server, box.seal(JSON.stringify(account), server));
    },
    async remove(server) {
      return (await redis.hdel(keys.mcpAccounts, server)) === 1;
    },
    async renewAlone(server, work) {
      const lock = await takeLock(redis, keys.mcpRenewing(server), renewingSeconds);
      if (!lock) return "busy";
      try {
        await work();
        return "done";
      } finally {
        await lock.release();
      }
    },
  };

  function parse(server: string, sealed: string): Account {
    try {
      return accountSchema.parse(JSON.parse(box.open(sealed, server)));
    } catch (error) {
      throw new UnreadableAccount(
        `The account at the MCP server ${server} cannot be read with this HEDDLE_SEAL_KEY: set the one it was stored with, or run heddle mcp login ${server} again.`,
        { cause: error },
      );
    }
  }
}
