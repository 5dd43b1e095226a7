import type { Redis } from "ioredis";
import { openClient } from "./client.ts";
import type { ClientOptions, Target } from "./target.ts";

/** Where this module says what happens. A pino logger fits. */
export interface RedisLog {
  info(text: string): void;
  warn(text: string): void;
}

export interface RedisServer {
  readonly kind: "url" | "system" | "embedded";
  /** Name, version and place, for people; without a password. */
  readonly describe: string;
  /** What is unsafe about this server, one sentence each. Already in the log. */
  readonly warnings: readonly string[];
  /**
   * A new client, with options of its role (`maxRetriesPerRequest: null` for a BullMQ worker). It reconnects
   * by itself and has an error listener: failures reach the caller through its commands.
   */
  connect(options?: ClientOptions): Redis;
  /** Ends what is left of the clients, and the server if this process started it. Call it last. */
  close(): Promise<void>;
}

/** What one strategy has to say; the rest is the same for all. */
interface Rung {
  kind: RedisServer["kind"];
  describe: string;
  warnings: readonly string[];
  target: Target;
  /** Runs when all clients are disconnected. */
  end: () => Promise<void>;
}

export function redisServer({ kind, describe, warnings, target, end }: Rung): RedisServer {
  const clients = new Set<Redis>();
  let ended: Promise<void> | undefined;
  return {
    kind,
    describe,
    warnings,
    connect(own) {
      const client = openClient(target, own);
      client.on("error", () => undefined);
      clients.add(client);
      client.once("end", () => clients.delete(client));
      return client;
    },
    close() {
      for (const client of clients) client.disconnect();
      ended ??= end();
      return ended;
    },
  };
}
