import { access, constants, open, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Writable } from "node:stream";
import { hasErrorCode } from "../sandbox/system-error.ts";
import { UsageError } from "./usage-error.ts";

/** A file that is being written. */
interface OutputFile {
  stream: Writable;
  /** Gives it its name, in place of what had it. */
  keep(): Promise<void>;
  /** Leaves everything as it was. */
  drop(): Promise<void>;
}

/**
 * A file for what was said and done, which only its owner reads. Until it is kept it lies beside the one of that name, so
 * that an export which fails costs no earlier one. A device or a pipe is written to at once.
 *
 * @throws UsageError
 */
async function openOutput(file: string): Promise<OutputFile> {
  const named = resolve(file);
  const path = await realpath(named).catch(() => named);
  try {
    const there = await stat(path).catch(() => undefined);
    if (there && !there.isFile())
      return { stream: await openStream(path, "w"), keep: async () => {}, drop: async () => {} };
    if (there) await access(path, constants.W_OK);
    const partial = `${path}.${process.pid}.partial`;
    return {
      stream: await openStream(partial, "wx"),
      keep: () => rename(partial, path),
      drop: () => rm(partial, { force: true }),
    };
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

async function openStream(path: string, flags: "w" | "wx"): Promise<Writable> {
  return (await open(path, flags, 0o600)).createWriteStream();
}

/**
 * Writes to a file that has its name once it is whole, or to standard output.
 *
 * @throws what `write` throws, and UsageError
 */
export async function writeOutput<T>(
  file: string | undefined,
  write: (out: Writable) => Promise<T>,
): Promise<T> {
  if (file === undefined) return await write(process.stdout);
  const out = await openOutput(file);
  try {
    const written = await write(out.stream);
    await out.keep();
    return written;
  } catch (error) {
    await out.drop();
    throw error;
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

/** What to tell of a file, or a folder for files, that could not be written. */
export function cannotWrite(path: string, error: unknown): UsageError {
  const why = error instanceof Error ? error.message : String(error);
  return new UsageError(`Nothing can be written to ${path} (${why}): name another file.`);
}
