import { isSupervised } from "../app/supervised.ts";
import { supervise } from "../app/supervisor.ts";
import { createCommandContext } from "./context.ts";
import type { Role } from "./roles.ts";

/** Serves chat, console and turns until SIGTERM or SIGINT, under a supervisor where turns are run. */
export async function command(role: Role): Promise<number> {
  const setup = await createCommandContext(undefined, { serves: true });
  if (role !== "gateway" && !isSupervised()) {
    return await supervise({
      entry: process.argv[1] ?? "",
      args: process.argv.slice(2),
      hangMs: setup.config.settings.queue.hangSeconds * 1_000,
      warn: (text) => setup.log.warn(text),
    });
  }
  // Only here: the supervisor stays small and starts at once without the rest of the program.
  const { serve } = await import("./serve.ts");
  return await serve(role, setup);
}
