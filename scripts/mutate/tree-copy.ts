import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A copy of the working tree, so that nothing is ever changed in the tree itself. */
export interface TreeCopy {
  folder: string;
  /** Paths of all files. */
  files: string[];
  write(file: string, text: string): void;
  remove(): void;
}

export function copyTree(root: string): TreeCopy {
  const folder = mkdtempSync(join(tmpdir(), "heddle-mutate-"));
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  // One that was deleted is listed until that is committed.
  const files = listed.split("\0").filter((file) => file !== "" && existsSync(join(root, file)));
  for (const file of files) cpSync(join(root, file), join(folder, file));
  for (const installed of ["node_modules", ".node"])
    if (existsSync(join(root, installed))) symlinkSync(join(root, installed), join(folder, installed));
  return {
    folder,
    files,
    write: (file, text) => writeFileSync(join(folder, file), text),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }),
  };
}
