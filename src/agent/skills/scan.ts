import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";

/** A folder with a `SKILL.md` that has not been read yet. */
export interface SkillFolder {
  path: string;
  manifest: string;
  /** Its other files, relative to it, sorted. */
  resources: string[];
}

export interface FolderScan {
  folders: SkillFolder[];
  /** Why the scan is incomplete. */
  problem?: string;
  /** Changes with every change of a file below. */
  fingerprint: string;
}

interface FoundFile {
  path: string;
  mark: string;
}

// Enough for any reasonable folder of skills; stops the scan when somebody configures a whole disk.
const maxDepth = 6;
const maxFiles = 5_000;

/** Looks for skills below a folder without reading a file. A skill's own folder holds no other skills. */
export async function scanFolder(root: string): Promise<FolderScan> {
  const files: FoundFile[] = [];
  const readable = await collect(root, 0, files);
  const folders: SkillFolder[] = [];
  for (const { path: manifest } of files.filter(({ path }) => /^skill\.md$/i.test(basename(path)))) {
    const path = dirname(manifest);
    if (folders.some((folder) => isWithin(folder.path, path))) continue;
    const inside = files.filter((file) => file.path !== manifest && isWithin(path, file.path));
    folders.push({ path, manifest, resources: inside.map((file) => relative(path, file.path)) });
  }
  const problem = findProblem(readable, files.length);
  const fingerprint = [problem ?? "", ...files.map((file) => file.mark)].join("\n");
  return { folders, fingerprint, ...(problem === undefined ? {} : { problem }) };
}

function findProblem(readable: boolean, count: number): string | undefined {
  if (!readable) return "The folder does not exist or cannot be read.";
  if (count < maxFiles) return undefined;
  return `Only the first ${maxFiles} files were looked at; name a folder that holds nothing but skills.`;
}

/** Files of a folder before those of its subfolders, each in the order of names. False when it cannot be read. */
async function collect(folder: string, depth: number, files: FoundFile[]): Promise<boolean> {
  const names = await readdir(folder).catch(() => undefined);
  if (!names) return false;
  const visible = names.filter((name) => !name.startsWith(".") && name !== "node_modules").toSorted();
  const entries = await Promise.all(
    visible.map(async (name) => {
      const path = join(folder, name);
      // Follows links: an operator may link a skill's folder into place.
      return { path, info: await stat(path).catch(() => undefined) };
    }),
  );
  for (const { path, info } of entries) {
    if (info?.isFile() && files.length < maxFiles) {
      files.push({ path, mark: `${path} ${info.size} ${info.mtimeMs} ${info.ctimeMs}` });
    }
  }
  for (const { path, info } of entries) {
    if (info?.isDirectory() && depth < maxDepth && files.length < maxFiles)
      await collect(path, depth + 1, files);
  }
  return true;
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
