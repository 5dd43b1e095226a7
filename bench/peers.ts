import { join } from "node:path";
import { dependenciesStep } from "../scripts/bootstrap/dependencies.js";

/** What Heddle is measured beside; a package of its own, so that nobody else installs it. */
export const peersFolder = join(import.meta.dirname, "peers");

/** Installs the peers unless they are there. @throws SetupFailure saying why that was not possible */
export async function providePeers(): Promise<void> {
  const step = dependenciesStep(peersFolder, process.execPath, { development: false });
  if (step.isMissing()) await step.install();
}
