import type { McpConfig, McpTimeouts } from "../../agent/mcp/config.ts";
import { keepFirst, type McpOffer } from "../../agent/mcp/offer.ts";
import type { McpPool } from "../../agent/mcp/pool.ts";

/** What a turn has of the MCP servers while it runs. */
export interface HeldPool extends McpPool {
  /** Keeps its servers open until what it returns is called. */
  hold(): () => void;
}

export interface ServerPools {
  /** The servers of a configuration; those that another one has unchanged keep their connections and processes. */
  open(config: McpConfig, timeouts: McpTimeouts): Promise<HeldPool>;
  /** Puts this one in force: ends all servers that it has not, once no turn has them any more. */
  replace(next: HeldPool): void;
  close(): Promise<void>;
}

/** One server, however many configurations have it. */
interface Entry {
  key: string;
  pool: McpPool;
  holders: number;
  /** Neither the configuration in force nor one that may come into force has it. */
  retired: boolean;
}

/**
 * MCP servers that come and go with the configuration: a change of one restarts only that one, and a turn that runs
 * keeps those that it began with.
 */
export function createServerPools(options: {
  /** @see openMcpPool */
  openPool(config: McpConfig, timeouts: McpTimeouts): Promise<McpPool>;
  onError(error: unknown): void;
}): ServerPools {
  const entries = new Map<string, Entry>();
  const entriesOf = new WeakMap<McpPool, readonly Entry[]>();

  const closeUnused = (entry: Entry) => {
    if (!entry.retired || entry.holders > 0 || entries.get(entry.key) !== entry) return;
    entries.delete(entry.key);
    entry.pool.close().catch(options.onError);
  };

  return {
    async open(config, timeouts) {
      const mine = await Promise.all(
        config.servers.map(async (server): Promise<Entry> => {
          const key = JSON.stringify([server, timeouts]);
          const known = entries.get(key);
          if (known) {
            // Its last turn may end before this configuration is in force.
            known.retired = false;
            return known;
          }
          const pool = await options.openPool({ servers: [server], secrets: config.secrets }, timeouts);
          const entry = { key, pool, holders: 0, retired: false };
          entries.set(key, entry);
          return entry;
        }),
      );
      const pool = joinPools(mine, closeUnused);
      entriesOf.set(pool, mine);
      return pool;
    },
    replace(next) {
      const kept = new Set(entriesOf.get(next));
      // Those of a configuration that was opened and then refused, too.
      for (const entry of entries.values()) {
        if (kept.has(entry)) continue;
        entry.retired = true;
        closeUnused(entry);
      }
    },
    async close() {
      await Promise.all([...entries.values()].map(({ pool }) => pool.close()));
    },
  };
}

function joinPools(entries: readonly Entry[], closeUnused: (entry: Entry) => void): HeldPool {
  return {
    async offer(signal, asker) {
      return joinOffers(await Promise.all(entries.map(({ pool }) => pool.offer(signal, asker))));
    },
    async readPrompt(choice, context) {
      const read = await Promise.all(entries.map(({ pool }) => pool.readPrompt(choice, context)));
      return read.find((each) => each !== undefined);
    },
    status: () => entries.flatMap(({ pool }) => pool.status()),
    async close() {
      await Promise.all(entries.map(({ pool }) => pool.close()));
    },
    hold() {
      for (const entry of entries) entry.holders += 1;
      return () => {
        for (const entry of entries) {
          entry.holders -= 1;
          closeUnused(entry);
        }
      };
    },
  };
}

function joinOffers(offers: readonly McpOffer[]): McpOffer {
  return {
    tools: keepFirst(offers.flatMap((offer) => offer.tools)),
    instructions: offers.flatMap(({ instructions }) => instructions),
    async renew(signal) {
      const renewed = await Promise.all(offers.map((offer) => offer.renew(signal)));
      if (renewed.every((offer) => offer === undefined)) return undefined;
      return joinOffers(renewed.map((offer, index) => offer ?? offers[index] ?? emptyOffer));
    },
  };
}

const emptyOffer: McpOffer = { tools: [], instructions: [], renew: async () => undefined };
