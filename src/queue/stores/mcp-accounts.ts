import type { Redis } from "ioredis";
import { z } from "zod";
import { accountSchema, type Accounts, type AccountStore } from "../../agent/contracts/mcp-account.ts";
import { createSealedBox, type SealedBox } from "../../agent/secrets/sealed-box.ts";
import { parseJson } from "../../agent/text/text.ts";
import { keys } from "../redis/keys.ts";
import { takeLock } from "../redis/lock.ts";

/** A process that dies while it renews holds the others up for so long, seconds. */
const renewingSeconds = 15;

/** An account is there and cannot be used; the message says what to do. */
export class UnreadableAccount extends Error {
  override readonly name = "UnreadableAccount";
}

/** Keeps the accounts in Redis, sealed. @param secret the same for all processes */
export function createAccountStore(redis: Redis, secret: string): Accounts {
  const box = createSealedBox(secret, "heddle mcp accounts");
  const ofPeople = createSealedBox(secret, "heddle mcp accounts of people");
  const installation = createStore(redis, {
    ...{ hash: keys.mcpAccounts, box, toField: (server) => server },
    onUnreadable(server, cause) {
      throw new UnreadableAccount(
        `The account at the MCP server ${server} cannot be read with this HEDDLE_SEAL_KEY: set the one it was stored with, or run heddle mcp login ${server} again.`,
        { cause },
      );
    },
  });
  return {
    ...installation,
    of: (person) =>
      createStore(redis, {
        ...{ hash: keys.mcpPersonAccounts, box: ofPeople, toField: (server) => toField(server, person) },
        // What that account showed its person goes with it.
        prompts: keys.mcpPrompts(person),
        // Its person connects it again, which needs no operator.
        onUnreadable: () => undefined,
      }),
    async list() {
      const fields = await redis.hkeys(keys.mcpPersonAccounts);
      return fields.flatMap((field) => {
        const parsed = fieldSchema.safeParse(parseJson(field));
        return parsed.success ? [{ server: parsed.data[0], person: parsed.data[1] }] : [];
      });
    },
  };
}

const fieldSchema = z.tuple([z.string(), z.string()]);

/** As JSON, so that no server's name can pass for another's with a person. */
function toField(server: string, person: string): string {
  return JSON.stringify([server, person]);
}

interface StoreOptions {
  hash: string;
  box: SealedBox;
  /** Where an account stands, and what it is sealed for. */
  toField(server: string): string;
  /** The hash of prompts that were listed with these accounts alone, by server. */
  prompts?: string;
  onUnreadable(server: string, cause: unknown): undefined;
}

function createStore(
  redis: Redis,
  { hash, box, toField: fieldOf, prompts, onUnreadable }: StoreOptions,
): AccountStore {
  return {
    async read(server) {
      const sealed = await redis.hget(hash, fieldOf(server));
      if (sealed === null) return undefined;
      try {
        return accountSchema.parse(JSON.parse(box.open(sealed, fieldOf(server))));
      } catch (error) {
        return onUnreadable(server, error);
      }
    },
    async write(server, account) {
      await redis.hset(hash, fieldOf(server), box.seal(JSON.stringify(account), fieldOf(server)));
    },
    async remove(server) {
      const removed = await redis.hdel(hash, fieldOf(server));
      if (prompts !== undefined) await redis.hdel(prompts, server);
      return removed === 1;
    },
    async renewAlone(server, work) {
      const lock = await takeLock(redis, keys.mcpRenewing(fieldOf(server)), renewingSeconds);
      if (!lock) return "busy";
      try {
        await work();
        return "done";
      } finally {
        await lock.release();
      }
    },
  };
}
