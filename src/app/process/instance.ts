import { createHash } from "node:crypto";
import { existsSync, readlinkSync, realpathSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Config } from "../../config/load.ts";

/**
 * Names this installation of Heddle among all that share a Redis or a machine: the same in each of its processes, and
 * another one where host name, data folder, the console's port or the container differs. It reveals none of them.
 */
export function readInstance({ dataDir, environment }: Pick<Config, "dataDir" | "environment">): string {
  const parts = [hostname(), realPath(dataDir), environment.HEDDLE_PORT, readPidNamespace()];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}

/** Also of a folder that is yet to be made. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : join(realPath(dirname(path)), basename(path));
}

/** Each container has its own, also where it shares host name and network with others. */
function readPidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}
