import { existsSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { findOnPath, runQuietly } from "./commands.js";
import { SetupFailure } from "./speak.js";

/**
 * A package of a lockfile, as far as it matters here.
 *
 * @typedef {object} LockedPackage
 * @property {string} [version]
 * @property {string} [integrity]
 * @property {boolean} [optional]
 * @property {boolean} [devOptional]
 * @property {boolean} [dev]
 */

/**
 * What is installed in `folder`. npm writes this file when everything else is in place.
 *
 * @param {string} folder
 */
export const installedRecord = (folder) => join(folder, "node_modules", ".package-lock.json");

/**
 * The packages of a lockfile by their path; none when it is missing or unreadable.
 *
 * @param {string} lockfile
 * @returns {Record<string, LockedPackage>}
 */
export function packagesOf(lockfile) {
  try {
    return JSON.parse(readFileSync(lockfile, "utf8")).packages ?? {};
  } catch {
    return {};
  }
}

/**
 * Runs npm under `node`, in silence unless it fails.
 *
 * @param {string} node
 * @param {string} folder Where it runs.
 * @param {readonly string[]} args
 * @param {string} advice What to do when it fails.
 * @throws {SetupFailure} with `advice`
 */
export async function npm(node, folder, args, advice) {
  const [command, ...first] = npmCommand(node);
  const all = [...first, ...args, "--ignore-scripts", "--no-audit", "--no-fund"];
  const failure = await runQuietly(command, all, { cwd: folder });
  if (!failure) return;
  throw new SetupFailure(
    `npm ${args[0]} failed (${failure.reason}; its words are above). ${advice}`,
    failure.output,
  );
}

/**
 * npm's program when it can be found, so that it runs under the chosen Node; else the command `npm`.
 *
 * @param {string} node
 * @returns {[command: string, ...args: string[]]}
 */
function npmCommand(node) {
  const beside = dirname(process.execPath);
  const command = findOnPath("npm");
  const program = [
    // The npm that runs this; other package managers set the variable too.
    process.env.npm_execpath,
    join(beside, "..", "lib", "node_modules", "npm", "bin", "npm-cli.js"),
    join(beside, "node_modules", "npm", "bin", "npm-cli.js"),
    command && realpathSync(command),
  ].find((path) => path && basename(path) === "npm-cli.js" && existsSync(path));
  if (program) return [node, program];
  if (command) return [command];
  throw new SetupFailure(
    "npm is not on PATH: install it (it comes with Node, https://nodejs.org) and start again.",
  );
}
