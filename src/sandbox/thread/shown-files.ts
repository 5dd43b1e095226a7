import { createHash, randomBytes } from "node:crypto";
import { chmodSync, existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Host, makeFolder } from "./host.ts";

/**
 * bwrap arguments that show these texts, read-only, at their paths in the sandbox. Each is kept under the name of its
 * content, so that workers of other settings do not take it from one another.
 */
export function showFiles({ root }: Pick<Host, "root">, files: Readonly<Record<string, string>>): string[] {
  const folder = join(root, "etc", "shown");
  return Object.entries(files).flatMap(([path, text]) => {
    makeFolder(folder, 0o755);
    const kept = join(folder, createHash("sha256").update(text).digest("hex"));
    if (!existsSync(kept)) writeShown(kept, text);
    return ["--ro-bind", kept, path];
  });
}

/** Writes a file that everybody may read, and that is whole at any time: other workers' sandboxes read it meanwhile. */
export function writeShown(path: string, text: string): void {
  const made = `${path}.${randomBytes(6).toString("hex")}`;
  writeFileSync(made, text);
  chmodSync(made, 0o644);
  renameSync(made, path);
}
