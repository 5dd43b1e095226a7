import { readMcpConfig } from "../agent/mcp/config.ts";
import { createMasker } from "../agent/secrets/mask-secrets.ts";
import type { CommandContext } from "../app/context.ts";
import { loadConfig } from "../config/load.ts";
import { createLog } from "../telemetry/log.ts";

/** A command line that makes no sense. The message says what was expected. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What every command begins with. `level` overrides the configured log level. @throws ConfigError, McpConfigError */
export async function createCommandContext(level?: string): Promise<CommandContext> {
  const config = loadConfig(process.env, process.cwd());
  const mcp = await readMcpConfig(config.settings.mcp.config, config.variables);
  const masker = createMasker([...config.secrets, ...mcp.secrets]);
  const log = createLog(level ?? config.environment.HEDDLE_LOG_LEVEL, masker, {
    terminal: process.stderr.isTTY,
  });
  return { config, mcp, masker, log };
}
