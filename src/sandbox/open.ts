import type { Config } from "../config/load.ts";
import { createBubblewrapBackend } from "./bubblewrap/backend.ts";
import type { SandboxBackend } from "./sandbox.ts";

/** The sandbox of this host, with the operator's limits. Its probe tells whether it can be used. */
export function openSandboxBackend({
  dataDir,
  settings,
}: Pick<Config, "dataDir" | "settings">): SandboxBackend {
  return createBubblewrapBackend({ dataDir, limits: settings.sandbox });
}
