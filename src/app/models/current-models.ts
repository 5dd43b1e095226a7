import type { Logger } from "../../telemetry/log.ts";
import type { Configuration } from "../configuration/live-configuration.ts";
import { type Models, openModels, readModelSources } from "./models.ts";

/** The models of the configuration in force. @throws what `openModels` throws */
export async function openCurrentModels(
  configuration: Configuration,
  log: Pick<Logger, "warn">,
): Promise<() => Models> {
  return await configuration.derive({
    of: ({ config }) => readModelSources(config),
    make: ({ config }) => openModels(config, log, () => configuration.current().settings),
  });
}
