import { prepare } from "./prepare.js";
import { become, run } from "./run.js";
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
    await runToEnd(await prepare(needs), program);
  });
}

/**
 * The same for Heddle itself, which needs no second process where the Node at hand is the one to use: a start is faster
 * without, and nothing is kept for as long as it runs.
 *
 * @param {string} file
 * @param {readonly string[]} args
 * @param {{ sandbox: boolean }} needs
 */
export function launchHeddle(file, args, { sandbox }) {
  return reporting(async () => {
    const node = await prepare({ development: false, sandbox });
    if (node === process.execPath) await become(file, args);
    else await runToEnd(node, [file, ...args]);
  });
}

/**
 * @param {string} node
 * @param {string[]} program
 */
async function runToEnd(node, program) {
  const { code, signal } = await run(node, program);
  if (signal) process.kill(process.pid, signal);
  process.exitCode = code ?? 1;
}
