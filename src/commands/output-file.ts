import { access, constants, open, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Writable } from "node:stream";
import { hasErrorCode } from "../sandbox/system-error.ts";
import { UsageError } from "./usage-error.ts";

/** A file for what was said and done, which only its owner reads. @throws UsageError */
export async function openOutput(file: string): Promise<Writable> {
  const path = resolve(file);
  try {
    return (await open(path, "w", 0o600)).createWriteStream();
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

/** The whole path of a file that is written later, by somebody else. @throws UsageError where that cannot be done */
export async function checkOutput(file: string): Promise<string> {
  const path = resolve(file);
  try {
    await access(dirname(path), constants.W_OK);
    if ((await stat(path)).isDirectory()) throw new Error("it is a folder");
  } catch (error) {
    if (!hasErrorCode(error, "ENOENT") || !(await isFolder(dirname(path)))) throw cannotWrite(path, error);
  }
  return path;
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function cannotWrite(path: string, error: unknown): UsageError {
  const why = error instanceof Error ? error.message : String(error);
  return new UsageError(`Nothing can be written to ${path} (${why}): name another file.`);
}
