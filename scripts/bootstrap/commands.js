import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The file that a command's name stands for; undefined when there is none. */
export function findOnPath(name) {
  for (const folder of (process.env.PATH ?? "").split(delimiter).filter(Boolean)) {
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
 * Runs a command in silence and without input.
 *
 * @returns {Promise<{ reason: string, output: string } | undefined>} how it failed, and the last of its output
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
  const failure = await new Promise((resolve) => {
    child.once("error", (error) => resolve({ reason: error.message, output }));
    child.once("close", (code, signal) => {
      resolve(code === 0 ? undefined : { reason: code === null ? signal : `exit status ${code}`, output });
    });
  });
  process.off("exit", end);
  return failure;
}
