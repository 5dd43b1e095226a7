import { existsSync, lstatSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { hasErrorCode } from "../sandbox/system-error.ts";

/** Why a file cannot be read and what to do, in one sentence for the operator; undefined where there is none. */
export function explainUnreadable(path: string, error: unknown): string | undefined {
  if (hasErrorCode(error, "ENOENT")) {
    // The file itself may be a link, and what it leads to missing.
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return isLink ? `${path} is a link to a file that does not exist; correct or remove it.` : undefined;
  }
  if (hasErrorCode(error, "EISDIR")) return `${path} is a folder; put the file in its place.`;
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  return `${path} cannot be read (${code}); make it and its folder readable for the user that runs Heddle.`;
}

/**
 * Whether that is in /proc. Making folders there never comes back: Node takes the kernel's answer for a missing parent and
 * tries again.
 */
export function isInProc(path: string): boolean {
  let existing = path;
  while (!existsSync(existing)) existing = dirname(existing);
  return /^\/proc(\/|$)/.test(realpathSync(existing));
}

/** Why the data folder cannot be used and what to do, in one sentence for the operator. */
export function explainUnusableFolder(dataDir: string, error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  return `The data folder ${dataDir} cannot be used (${words}): make it writable for the user that runs Heddle, or set HEDDLE_DATA_DIR to a folder that is.`;
}
