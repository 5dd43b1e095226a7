import type { Config } from "../config/load.ts";
import { connectRedis, type RedisSettings } from "../queue/redis/choose-server.ts";
import type { RedisLog, RedisServer } from "../queue/redis/server.ts";

/**
 * The Redis that this installation is configured for.
 * @param options.patienceMs how long REDIS_URL may be unreachable; default 10,000
 * @param options.adopts false for a command that only reads: see `RedisSettings`
 * @throws RedisUnavailable
 */
export async function openRedis(
  { environment, dataDir }: Pick<Config, "environment" | "dataDir">,
  log: RedisLog,
  options: Pick<RedisSettings, "patienceMs" | "adopts"> = {},
): Promise<RedisServer> {
  return await connectRedis({
    ...(environment.REDIS_URL && { url: environment.REDIS_URL }),
    ...(environment.REDIS_CA && { caFile: environment.REDIS_CA }),
    ...(environment.REDIS_SENTINEL_PASSWORD && { sentinelPassword: environment.REDIS_SENTINEL_PASSWORD }),
    dataDir,
    ...options,
    log,
  });
}
