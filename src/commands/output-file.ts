import { open } from "node:fs/promises";
import { resolve } from "node:path";
import type { Writable } from "node:stream";
import { UsageError } from "./usage-error.ts";

/** A file for what was said and done, which only its owner reads. @throws UsageError */
export async function openOutput(file: string): Promise<Writable> {
  const path = resolve(file);
  try {
    return (await open(path, "w", 0o600)).createWriteStream();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`Nothing can be written to ${path} (${why}): name another file.`);
  }
}
