import type { Config } from "../config/load.ts";
import { connectRedis } from "../queue/redis/choose-server.ts";
import type { RedisLog, RedisServer } from "../queue/redis/server.ts";

/**
 * The Redis that this installation is configured for.
 * @param patienceMs how long REDIS_URL may be unreachable; default 10,000
 * @throws RedisUnavailable
 */
export async function openRedis(
  { environment, dataDir }: Pick<Config, "environment" | "dataDir">,
  log: RedisLog,
  patienceMs?: number,
): Promise<RedisServer> {
  return await connectRedis({
    ...(environment.REDIS_URL && { url: environment.REDIS_URL }),
    ...(environment.REDIS_CA && { caFile: environment.REDIS_CA }),
    ...(environment.REDIS_SENTINEL_PASSWORD && { sentinelPassword: environment.REDIS_SENTINEL_PASSWORD }),
    dataDir,
    ...(patienceMs !== undefined && { patienceMs }),
    log,
  });
}
