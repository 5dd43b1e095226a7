import { provideBubblewrap } from "./bubblewrap.js";
import { dependenciesStep } from "./dependencies.js";
import { nodeStep } from "./node.js";
import { withLock } from "./lock.js";
import { root } from "./root.js";
import { SetupFailure } from "./speak.js";

/**
 * Sets up what is missing, one line for each thing; says nothing when nothing is.
 *
 * @param {object} needs
 * @param {boolean} needs.development Also what only tests and checks use.
 * @param {boolean} needs.sandbox Also bubblewrap, on Linux.
 * @returns {Promise<string>} the Node to use
 * @throws {SetupFailure}
 */
export async function prepare({ development, sandbox }) {
  const node = nodeStep(root);
  const steps = [node, dependenciesStep(root, node.path, { development })];
  if (steps.some((step) => step.isMissing())) {
    await withLock(root, async () => {
      // Asked again: another start may have done it meanwhile.
      for (const step of steps) if (step.isMissing()) await step.install();
    }).catch(explain);
  }
  if (sandbox && process.platform === "linux") await provideBubblewrap();
  return node.path;
}

/** Errors of the file system are for the person, too. */
function explain(error) {
  if (error.syscall === undefined) throw error;
  const forbidden = ["EACCES", "EPERM", "EROFS"].includes(error.code);
  const way = forbidden ? "start Heddle once as the owner of that folder" : "correct that and start again";
  throw new SetupFailure(
    `Something has to be installed in ${root}, and that failed (${error.message}): ${way}.`,
  );
}
