import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Makes the folder if need be. What is in it begins with the number of the process that made it. */
export function openCopies(copies: string): void {
  mkdirSync(copies, { recursive: true });
  chmodSync(copies, 0o711);
}

/** Removes what processes that are no more have left. */
export function sweepCopies(copies: string): void {
  for (const name of readdirSync(copies)) {
    const [pid] = name.split("-");
    if (!existsSync(`/proc/${pid}`)) rmSync(join(copies, name), { recursive: true, force: true });
  }
}
