import type { McpConfig } from "../agent/mcp/config.ts";
import type { GrowingMasker } from "../agent/secrets/mask-secrets.ts";
import type { Config } from "../config/load.ts";
import type { Logger } from "../telemetry/log.ts";

/** What a command begins with. */
export interface CommandContext {
  /** As it was when the process started; `configuration` tells what is in force. */
  config: Config;
  mcp: McpConfig;
  /** See `LoadedConfiguration`. */
  hash: string;
  masker: GrowingMasker;
  log: Logger;
}
