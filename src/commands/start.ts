import { setImmediate as turnLoop } from "node:timers/promises";
import { startReporting } from "../app/process/supervised.ts";
import type { Config } from "../config/load.ts";
import { createCommandContext } from "./context.ts";
import type { Role } from "./roles.ts";

/** Serves chat, console and turns until SIGTERM or SIGINT; main.ts has started a supervisor where turns are run. */
export async function startRole(role: Role): Promise<number> {
  const { forkSpawner } = await import("../sandbox/bubblewrap/spawner.ts");
  // Before anything else: it loads while this process does, and the sandbox's self-test waits for it.
  const spawner = forkSpawner();
  const setup = await createCommandContext(undefined, { serves: true });
  startReporting(setup.config.settings.queue.hangSeconds * 1_000);
  const { openConfiguration, openHost } = await import("../app/host.ts");
  const { openCurrentModels } = await import("../app/models/current-models.ts");
  const { checkModelKeys } = await import("../app/models/models.ts");
  // Before anything is connected: it is told at once, however slow Redis is.
  checkModelKeys(setup.config);
  const configuration = openConfiguration(setup);
  const host = await openHost(setup, configuration, spawner);
  const models = openCurrentModels(configuration, setup.log);
  // `serve` awaits them and hears of a failure then.
  models.catch(() => undefined);
  if (role !== "gateway") host.skills.current().catch(() => undefined);
  // Redis, the sandbox's self-test and the models' services take as long as loading the rest of the program, and go on beside it.
  const { serve } = await loadServe(setup.config, role);
  return await serve(role, setup, { host, models });
}

/** Node holds the event loop while it loads a module and all that it imports: what has begun goes on in between. */
async function loadServe(config: Config, role: Role) {
  const parts: (() => Promise<unknown>)[] = [
    () => import("../queue/turns/wake-queue.ts"),
    () => import("../telemetry/telemetry.ts"),
    () => import("../intake/intake.ts"),
    () => import("../app/context.ts"),
    () => import("../app/worker.ts"),
    () => import("../app/gateway.ts"),
    async () => (await import("../app/platforms.ts")).loadPlatforms(config, { hears: role !== "worker" }),
  ];
  for (const load of parts) {
    await load();
    await turnLoop();
  }
  return await import("./serve.ts");
}
