import { openPreviews, type Previews } from "../previews/previews.ts";
import type { AppContext } from "./context.ts";

/**
 * What threads may show in a browser; undefined where the operator has not switched it on, or it cannot work. It takes
 * no worker down: the log says what is wrong.
 */
export async function openConfiguredPreviews({
  config,
  log,
  sandbox,
}: Pick<AppContext, "config" | "log" | "sandbox">): Promise<Previews | undefined> {
  const { address, host, port, minutes, perThread } = config.settings.previews;
  if (address === undefined) return undefined;
  if (sandbox.backend.name === "none") {
    log.warn("previews.address is set, and nothing can be shared: sandbox.backend is none");
    return undefined;
  }
  try {
    const most = Math.min(minutes, config.settings.sandbox.jobMinutes);
    const previews = await openPreviews({
      ...{ address, host, port, perThread, lifetimeMs: most * 60_000 },
      now: Date.now,
    });
    log.info({ host, port: previews.port }, "previews can be opened");
    return previews;
  } catch (error) {
    log.error(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}
