import { prepare } from "./prepare.js";
import { run } from "./run.js";
import { reporting } from "./speak.js";

/**
 * Sets up what is missing and runs a program of this repository as if it had been called directly: same terminal,
 * signals and exit status.
 *
 * @param {string[]} program A file of the repository and its arguments.
 * @param {{ development: boolean, sandbox: boolean }} needs See `prepare`.
 */
export function launch(program, needs) {
  return reporting(async () => {
    const { code, signal } = await run(await prepare(needs), program);
    if (signal) process.kill(process.pid, signal);
    process.exitCode = code ?? 1;
  });
}
