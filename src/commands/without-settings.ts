import { openRedis } from "../app/redis.ts";
import { loadEnvironment } from "../config/load.ts";

/**
 * Connects to Redis as the environment names it, without the settings: they may be broken while what was in force before
 * goes on.
 *
 * @throws RedisUnavailable, ConfigError for the environment
 */
export async function connectWithoutSettings() {
  const config = loadEnvironment(process.env, process.cwd());
  const server = await openRedis(config, { info() {}, warn() {} }, { adopts: false });
  return { config, server };
}
