import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { isLoopback } from "../adapters/console/server/auth-guard.ts";
import type { Config } from "../config/load.ts";
import { openSecretFile, readSecretFile } from "../config/secret-file.ts";
import { findOthersOnHost, viewHost } from "./process/host-users.ts";

/** Beside the audit log's key; whoever reads it may use the console. */
const fileName = "console.token";

/** What the console asks for. */
export interface ConsoleToken {
  token?: string;
  /** Of a token that nobody has set. */
  byDefault?: {
    /** Opens the console once, soon after the start: in a log it is soon worth nothing. */
    loginCode: string;
    /** Where the token is. */
    file: string;
    /** Who could reach the console otherwise. */
    others: string;
  };
}

/** Who else than its person can reach the console; undefined where it asks for nothing or for the token that is set. */
export async function findConsoleOthers({
  environment,
  variables,
}: Pick<Config, "environment" | "variables">): Promise<string | undefined> {
  const { HEDDLE_CONSOLE_TOKEN: token, HEDDLE_CONSOLE_OPEN: isOpen, HEDDLE_HOST: host } = environment;
  if (token !== undefined || isOpen === "1" || !isLoopback(host)) return undefined;
  return await findOthersOnHost(viewHost(variables));
}

/** The token that is set or, where others of this machine can reach the console, one in the data folder. */
export async function openConsoleToken(
  config: Pick<Config, "environment" | "variables" | "dataDir">,
): Promise<ConsoleToken> {
  const { HEDDLE_CONSOLE_TOKEN: token } = config.environment;
  if (token !== undefined) return { token };
  const others = await findConsoleOthers(config);
  if (others === undefined) return {};
  return {
    token: await openSecretFile(config.dataDir, fileName),
    byDefault: { loginCode: randomBytes(24).toString("hex"), file: consoleTokenFile(config.dataDir), others },
  };
}

/**
 * The token that nobody has set, for whoever masks it. A process that serves makes it before anything is shown, also one
 * without a console: another one of the same data folder may open it later. Undefined where there is none, and where the
 * file cannot be used: whoever opens the console says so.
 *
 * @param options.makes where the console is going to need it
 */
export async function findDefaultConsoleToken(
  config: Pick<Config, "environment" | "variables" | "dataDir">,
  { makes }: { makes: boolean },
): Promise<string | undefined> {
  try {
    const isNeeded = makes && (await findConsoleOthers(config)) !== undefined;
    return await (isNeeded ? openSecretFile : readSecretFile)(config.dataDir, fileName);
  } catch {
    return undefined;
  }
}

export function consoleTokenFile(dataDir: string): string {
  return join(dataDir, fileName);
}
