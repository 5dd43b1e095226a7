/** Why there is no Redis. The message names the server, the cause and the way out, and never a password. */
export class RedisUnavailable extends Error {
  override readonly name = "RedisUnavailable";
}
