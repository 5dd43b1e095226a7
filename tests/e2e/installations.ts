import { chmod, cp, mkdtemp, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buildProgram } from "../../scripts/package/program.ts";

/** The ways in which Heddle lies on somebody's machine. */

const repository = resolve(import.meta.dirname, "../..");

/** Builds what the image holds into a new folder, above which there are no packages. Whoever asks for it removes it. */
export async function buildDeployed(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-deployed-"));
  // The users of a root bot's sandboxes read the skills.
  await chmod(folder, 0o755);
  await buildProgram(join(folder, "dist"));
  for (const name of ["package.json", "skills"])
    await cp(join(repository, name), join(folder, name), { recursive: true });
  return folder;
}

/** Copies what `npm start` runs: nothing that the developers of this clone have set reaches it. */
export async function copyClone(folder: string): Promise<string> {
  const copy = join(folder, "heddle");
  for (const part of ["scripts", "src", "skills", "package.json", "package-lock.json"])
    await cp(join(repository, part), join(copy, part), { recursive: true });
  await symlink(join(repository, "node_modules"), join(copy, "node_modules"));
  return copy;
}
