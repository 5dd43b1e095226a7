import { setTimeout as delay } from "node:timers/promises";
import { isSupervised, startReporting } from "../app/process/supervised.ts";
import { supervise } from "../app/process/supervisor.ts";
import type { Role } from "./roles.ts";

/** Serves chat, console and turns until SIGTERM or SIGINT, under a supervisor where turns are run. */
export async function startRole(role: Role): Promise<number> {
  if (role !== "gateway" && !isSupervised()) {
    return await supervise({ entry: process.argv[1] ?? "", args: process.argv.slice(2), warn });
  }
  // Only here: the supervisor stays small and starts at once without the rest of the program.
  const { createCommandContext } = await import("./context.ts");
  const setup = await createCommandContext(undefined, { serves: true });
  startReporting(setup.config.settings.queue.hangSeconds * 1_000);
  const { openConfiguration, openHost } = await import("../app/host.ts");
  const { openCurrentModels } = await import("../app/current-models.ts");
  const configuration = openConfiguration(setup);
  // Before anything is connected: a model without its key is told at once, however slow Redis is.
  const models = await openCurrentModels(configuration, setup.log);
  // Redis and the sandbox's self-test take as long as loading the rest of the program, and go on beside it.
  const host = await openHost(setup, configuration);
  const { serve } = await loadServe();
  return await serve(role, setup, { host, models });
}

/** Node holds the event loop while it loads a module and all that it imports: what has begun goes on in between. */
async function loadServe() {
  const parts = [
    () => import("../queue/turns/wake-queue.ts"),
    () => import("../telemetry/telemetry.ts"),
    () => import("../intake/intake.ts"),
    () => import("../app/context.ts"),
    () => import("../app/worker.ts"),
    () => import("../app/gateway.ts"),
  ];
  for (const load of parts) {
    await load();
    await delay(1);
  }
  return await import("./serve.ts");
}

/** Logs as the configuration wants it, which the supervisor reads only when it has something to say. */
async function warn(text: string): Promise<void> {
  try {
    const { createCommandContext } = await import("./context.ts");
    (await createCommandContext()).log.warn(text);
  } catch {
    // The configuration has become unreadable, which the program says when it is started again.
    process.stderr.write(`${text}\n`);
  }
}
