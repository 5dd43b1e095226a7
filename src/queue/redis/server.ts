import type { Cluster, Redis } from "ioredis";
import { openClient } from "./client.ts";
import { followFailover } from "./follow-failover.ts";
import { defaultLimits, type SilenceLimits } from "./silence.ts";
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
  /**
   * False from the moment at which a connection was given up because Redis was silent until Redis answers over a new one,
   * and while a cluster has had no primary for seconds.
   */
  isAnswering(): boolean;
  /** Ends what is left of the clients, and the server if this process started it. Call it last. */
  close(): Promise<void>;
}

/** What one way to a server has to say of it; the rest is the same for all. */
interface ServerStrategy {
  kind: RedisServer["kind"];
  describe: string;
  warnings: readonly string[];
  target: Target;
  log: RedisLog;
  /** When a connection is given up. */
  limits?: SilenceLimits;
  /** Whether a cluster takes commands. Default: it is none. */
  hasPrimary?: () => boolean;
  /** Runs when all clients are disconnected. */
  end: () => Promise<void>;
}

export function redisServer({
  kind,
  describe,
  warnings,
  target,
  log,
  limits = defaultLimits,
  hasPrimary = () => true,
  end,
}: ServerStrategy): RedisServer {
  const clients = new Set<Redis>();
  const silence = followSilence(log, limits);
  const watch = {
    limits,
    onOpen: (client: Redis) => void clients.add(client),
    onSilent: silence.note,
  };
  const unfollow = followFailover(target, () => {
    for (const client of clients) if (client.status === "ready") client.disconnect(true);
  });
  let ended: Promise<void> | undefined;
  return {
    kind,
    describe,
    warnings,
    connect(own) {
      const client = openClient(target, own, watch);
      client.on("error", () => undefined);
      return client;
    },
    isAnswering: () => silence.isOver() && hasPrimary(),
    close() {
      unfollow();
      for (const client of clients) client.disconnect();
      ended ??= end();
      return ended;
    },
  };
}

/** Says once that Redis is silent, however many connections notice, and once that it answers all of them again. */
function followSilence(
  log: RedisLog,
  { askMs, answerMs }: SilenceLimits,
): {
  note(client: Redis, silence: { silentMs: number }): void;
  isOver(): boolean;
} {
  const unanswered = new Set<Redis>();
  let isTold = false;
  let calm: NodeJS.Timeout | undefined;
  const tellEnd = () => {
    isTold = false;
    log.info("Redis answers again.");
  };
  const confirm = async (client: Redis) => {
    // A cluster has lost the node from its list, and finds the one that takes its place.
    const asked = client.isCluster ? (client as unknown as Cluster).nodes("master") : [client];
    await Promise.all(asked.map((connection) => connection.ping())).catch(() => undefined);
    unanswered.delete(client);
    // Connections fall silent together and are given up one after the other.
    if (unanswered.size === 0) calm = setTimeout(tellEnd, askMs + answerMs).unref();
  };
  return {
    note(client, { silentMs }) {
      clearTimeout(calm);
      if (!isTold) {
        isTold = true;
        log.warn(
          `Redis has not answered for ${silentMs / 1_000} s although its connection is open: every silent connection is given up and made anew until it answers.`,
        );
      }
      if (unanswered.has(client)) return;
      unanswered.add(client);
      void confirm(client);
    },
    isOver: () => unanswered.size === 0,
  };
}
