import { dependenciesStep } from "./dependencies.js";
import { nodeStep } from "./node.js";
import { withLock } from "./lock.js";
import { root } from "./root.js";
import { SetupFailure } from "./speak.js";
import { installingIsForbidden, nameServer, provideSystemPackages } from "./system-packages.js";

/**
 * Something that may have to be installed first.
 *
 * @typedef {object} SetupStep
 * @property {() => boolean} isMissing
 * @property {() => Promise<void>} install Throws a SetupFailure when that is not possible.
 */

/**
 * Sets up what is missing, one line for each thing; says nothing when nothing is.
 *
 * @param {object} needs
 * @param {boolean} needs.development Also what only tests and checks use.
 * @param {boolean} needs.sandbox Also bubblewrap and a Redis server, on Linux.
 * @returns {Promise<string>} the Node to use
 * @throws {SetupFailure}
 */
export async function prepare({ development, sandbox }) {
  const node = nodeStep(root);
  const steps = [node, dependenciesStep(root, node.path, { development })];
  if (steps.some((step) => step.isMissing())) {
    if (installingIsForbidden())
      throw new SetupFailure(
        `Something has to be installed in ${root}, which HEDDLE_NO_INSTALL=1 forbids: run \`npm ci\` there with Node 24 or 26 and start again.`,
      );
    await withLock(root, async () => {
      // Asked again: another start may have done it meanwhile.
      for (const step of steps) if (step.isMissing()) await step.install();
    }).catch(explain);
  }
  if (sandbox && process.platform === "linux") await provideSystemPackages();
  if (development) nameServer();
  return node.path;
}

/**
 * Errors of the file system are for the person, too.
 *
 * @param {unknown} error
 * @returns {never}
 */
function explain(error) {
  if (!(error instanceof Error && "syscall" in error && "code" in error)) throw error;
  const forbidden = ["EACCES", "EPERM", "EROFS"].includes(String(error.code));
  const way = forbidden ? "start Heddle once as the owner of that folder" : "correct that and start again";
  throw new SetupFailure(
    `Something has to be installed in ${root}, and that failed (${error.message}): ${way}.`,
  );
}
