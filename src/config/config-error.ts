/** A configuration that cannot be used. The message lists every fault with its place and an example. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
