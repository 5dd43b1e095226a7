import { createMasker } from "../agent/secrets/mask-secrets.ts";
import { findDefaultConsoleToken } from "../app/console-token.ts";
import type { CommandContext } from "../app/command-context.ts";
import { loadConfiguration } from "../app/configuration/load.ts";
import { createLog } from "../telemetry/log.ts";

export { UsageError } from "./usage-error.ts";

/**
 * What every command begins with. @throws ConfigError, McpConfigError
 * @param level overrides the configured log level
 * @param options.serves whether it goes on to serve
 */
export async function createCommandContext(
  level?: string,
  { serves = false }: { serves?: boolean } = {},
): Promise<CommandContext> {
  const { config, mcp, hash } = await loadConfiguration(process.env, process.cwd());
  const consoleToken = await findDefaultConsoleToken(config, { makes: serves });
  const masker = createMasker([...config.secrets, ...mcp.secrets, ...(consoleToken ? [consoleToken] : [])]);
  const log = createLog(level ?? config.environment.HEDDLE_LOG_LEVEL, masker, {
    terminal: process.stderr.isTTY,
  });
  return { config, mcp, hash, masker, log };
}
