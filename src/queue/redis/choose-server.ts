import { adoptInto } from "./local/adopt.ts";
import { connectLocal } from "./local/local.ts";
import { connectRemote } from "./remote.ts";
import type { RedisLog, RedisServer } from "./server.ts";
import type { SilenceLimits } from "./silence.ts";

export interface RedisSettings {
  /** See `parseRedisUrl`. Given but unreachable is an error, never a fall-back. */
  url?: string;
  /** A file with the certificates (PEM) that TLS trusts; without it those of the system count. */
  caFile?: string;
  /** Of the sentinels themselves, where they ask for one. */
  sentinelPassword?: string;
  /** Without a `url`, the server and its data live in `<dataDir>/redis`. */
  dataDir: string;
  /** How long a `url` may be unreachable at the start (a container that is still coming up). Default 10,000 ms; 2,000 where a single server refuses the connection. */
  patienceMs?: number;
  /** When a connection is given up; the default is for production. */
  limits?: SilenceLimits;
  /** Where `valkey-server` and `redis-server` are looked for. Default: the PATH of this process. */
  searchPath?: string;
  /**
   * Whether what the embedded server kept is moved into a real one. Default true; a command that only reads leaves it
   * where it is and gets a warning.
   */
  adopts?: boolean;
  log: RedisLog;
}

/**
 * Finds or starts the Redis that this installation works with, and says in one log line which one that is:
 *
 * 1. `url`;
 * 2. `valkey-server` or `redis-server` of the system, on a Unix socket in the data folder;
 * 3. the embedded server.
 *
 * Processes with one data folder share one server. It ends with the one that started it; a server of the system
 * is then started again by one of the others.
 *
 * @throws {RedisUnavailable} with a sentence for the operator.
 */
export async function connectRedis(settings: RedisSettings): Promise<RedisServer> {
  const { url, log, adopts = true } = settings;
  const server =
    url === undefined
      ? await connectLocal({
          ...settings,
          adopts,
          searchPath: settings.searchPath ?? process.env["PATH"] ?? "",
        })
      : await adoptInto(
          await connectRemote({ ...settings, url, patienceMs: settings.patienceMs ?? 10_000 }),
          { dataDir: settings.dataDir, adopts, log },
        );
  log.info(`Redis: ${server.describe}.`);
  for (const warning of server.warnings) log.warn(warning);
  return server;
}
