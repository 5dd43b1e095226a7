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
  const { serve } = await import("./serve.ts");
  return await serve(role, setup);
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
