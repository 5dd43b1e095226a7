import { join } from "node:path";
import { dependenciesStep } from "../scripts/bootstrap/dependencies.js";
import { reasonOf } from "./figure.ts";

/** What Heddle is measured beside; a package of its own, so that nobody else installs it. */
export const peersFolder = join(import.meta.dirname, "peers");

/** Installs the peers unless they are there. @throws SetupFailure saying why that was not possible */
export async function providePeers(): Promise<void> {
  const step = dependenciesStep(peersFolder, process.execPath, { development: false });
  if (step.isMissing()) await step.install();
}

/** Whether the named peers can be measured; why not is added to `missing`. */
export async function arePeersThere(names: readonly string[], missing: string[]): Promise<boolean> {
  try {
    await providePeers();
    return true;
  } catch (error) {
    missing.push(`${names.join(", ")}: ${reasonOf(error)}`);
    return false;
  }
}
