import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import type { McpConfig } from "../../agent/mcp/config.ts";
import { readMcpConfig } from "../../agent/mcp/read-config.ts";
import { ConfigError } from "../../config/config-error.ts";
import { type Config, loadConfig } from "../../config/load.ts";
import { readText } from "../../config/read-text.ts";

/** What is read from the files of the configuration and the environment. */
export interface LoadedConfiguration {
  config: Config;
  mcp: McpConfig;
  /** Tells one content of the files from another. */
  hash: string;
}

/** Reads everything that the configuration consists of. @throws ConfigError, McpConfigError */
export async function loadConfiguration(env: NodeJS.ProcessEnv, cwd: string): Promise<LoadedConfiguration> {
  const config = loadConfig(env, cwd);
  const mcp = await readMcpConfig(config.settings.mcp.config, config.variables);
  const texts = [config.settingsFile, config.settings.mcp.config].map((path) => path && readText(path));
  return { config, mcp, hash: digest(texts) };
}

/**
 * Reads it again. Beside what a start refuses, a settings file that is gone or empty is: half of what an editor does,
 * or a mistake, and without it everybody might do everything. @throws ConfigError, McpConfigError
 *
 * @param inForce what has been read so far
 */
export async function reloadConfiguration(
  { config: { settingsFile } }: LoadedConfiguration,
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<LoadedConfiguration> {
  if (settingsFile !== undefined && !readText(settingsFile)?.trim()) {
    throw new ConfigError(
      `${settingsFile} is gone or empty; write it again, with {} for the defaults, or start Heddle again without it.`,
    );
  }
  return await loadConfiguration(env, cwd);
}

/** The files that are read, whether or not they exist. */
export function listFiles({ config }: LoadedConfiguration, cwd: string): string[] {
  const { settings, settingsFile, environment } = config;
  return [settingsFile ?? resolve(cwd, environment.HEDDLE_CONFIG), settings.mcp.config, join(cwd, ".env")];
}

function digest(texts: readonly (string | undefined)[]): string {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(text === undefined ? "-" : `${text.length}:${text}`);
  return hash.digest("hex").slice(0, 12);
}
