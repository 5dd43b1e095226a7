import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * The file that a command's name stands for; undefined when there is none.
 *
 * @param {string} name
 */
export const findOnPath = (name) => findIn((process.env.PATH ?? "").split(delimiter).filter(Boolean), name);

/**
 * The executable file of this name in the first of these folders that has one.
 *
 * @param {readonly string[]} folders
 * @param {string} name
 */
export function findIn(folders, name) {
  for (const folder of folders) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not here.
    }
  }
  return undefined;
}

/**
 * How a command failed, and the last of its output.
 *
 * @typedef {{ reason: string, output: string }} CommandFailure
 */

/**
 * Runs a command in silence and without input.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string }} options
 * @returns {Promise<CommandFailure | undefined>} undefined when it succeeded
 */
export async function runQuietly(command, args, options = {}) {
  const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  // At once: npm would go on writing for a while after a polite signal.
  const end = () => child.kill("SIGKILL");
  process.once("exit", end);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output = (output + text).slice(-4_000);
    });
  }
  /** @type {CommandFailure | undefined} */
  const failure = await new Promise((resolve) => {
    child.once("error", (error) => resolve({ reason: error.message, output }));
    child.once("close", (code, signal) => {
      resolve(code === 0 ? undefined : { reason: signal ?? `exit status ${code}`, output });
    });
  });
  process.off("exit", end);
  return failure;
}
