/**
 * The side of the watched process; the other one is supervisor.ts. It imports nothing, so that it can be the first
 * thing that a program loads.
 */

/** In the environment of a process that is watched. */
export const supervisedMark = "HEDDLE_SUPERVISED";

/** What the watched process says: after which silence it hangs, that it is alive, and once that it serves. */
export type Report = { hangMs: number } | "alive" | "serving";

/** Fast enough to tell a hang within its second. */
export const beatMs = 250;

let supervised = false;

/**
 * Ends this process with the supervisor that started it, and at once where that has gone already: nobody could end
 * it if it hung, and it would serve with settings that nobody has asked for any more. To be called before anything
 * else is loaded. Does nothing where nobody supervises.
 */
export function endWithSupervisor(): void {
  if (process.env[supervisedMark] !== "1") return;
  delete process.env[supervisedMark];
  // A channel that closed before this line tells of it no more, and one that closes after it does.
  if (!process.connected) process.exit(1);
  process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
  // Else the listener keeps the process.
  process.channel?.unref();
  supervised = true;
}

/** Whether somebody watches this process. */
export function isSupervised(): boolean {
  return supervised;
}

/** Tells the supervisor, if there is one, after which silence this process hangs, and from then on that it is alive. */
export function startReporting(hangMs: number): void {
  if (!supervised) return;
  report({ hangMs });
  setInterval(() => report("alive"), beatMs).unref();
}

/** Tells the supervisor, if there is one, that the program has started and serves. */
export function reportServing(): void {
  if (supervised) report("serving");
}

function report(what: Report): void {
  process.send?.(what, () => undefined);
}
