import { createMasker, type Masker } from "../agent/context/mask.ts";
import { type Config, loadConfig } from "../config/load.ts";
import { createLog, type Logger } from "../telemetry/log.ts";

/** A command line that makes no sense. The message says what was expected. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What every command begins with. `level` overrides the configured log level. */
export function setUp(level?: string): { config: Config; masker: Masker; log: Logger } {
  const config = loadConfig(process.env, process.cwd());
  const masker = createMasker(config.secrets);
  const log = createLog(level ?? config.environment.HEDDLE_LOG_LEVEL, masker, {
    terminal: process.stderr.isTTY,
  });
  return { config, masker, log };
}
