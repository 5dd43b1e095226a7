import { rmSync, statSync, utimes, writeFileSync } from "node:fs";
import { hasErrorCode } from "../system-error.ts";

/** Who works keeps the time of the file fresh; who has not for so long has died, or another machine's clock is off. */
const beatMs = 20_000;
const deadAfterMs = 300_000;

/**
 * Does the work unless another process does the same, in whatever container or machine that shares the folder.
 *
 * @param file exists while somebody works
 * @returns undefined where another process does it
 */
export async function withFileLock<Result>(
  file: string,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  if (!take(file)) return undefined;
  const beat = setInterval(() => utimes(file, new Date(), new Date(), () => undefined), beatMs).unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  const beatenAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
  if (Date.now() - beatenAt > deadAfterMs) rmSync(file, { force: true });
  try {
    writeFileSync(file, "", { flag: "wx" });
    return true;
  } catch (error) {
    if (hasErrorCode(error, "EEXIST")) return false;
    throw error;
  }
}
