import type { Stats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";

/** A folder with a `SKILL.md` that has not been read yet. */
export interface SkillFolder {
  path: string;
  manifest: string;
  /** Its other files, relative to it, sorted. */
  resources: string[];
  /** The same with those that are not listed, where these were looked at. */
  content: string[];
}

export interface FolderScan {
  folders: SkillFolder[];
  /** Why the scan is incomplete. */
  problem?: string;
  /** Changes with every change of a file below. */
  fingerprint: string;
  /** The root and each folder and file below, with what {@link markPath} says of it. */
  marks: ReadonlyMap<string, string>;
  /** When anything of this last changed, ms since the epoch by the clock of its file system. */
  changedAt: number;
}

// Enough for any reasonable folder of skills; stops the scan when somebody configures a whole disk.
const maxDepth = 6;
const maxFiles = 5_000;

/**
 * Looks for skills below a folder without reading a file. A skill's own folder holds no other skills.
 *
 * @param isWhole whether files are looked at, too, that are not listed: hidden ones, and those in `node_modules`
 */
export async function scanFolder(root: string, isWhole: boolean): Promise<FolderScan> {
  const tree = await listTree(root, isWhole);
  const { files, marks, changedAt } = tree;
  const folders: SkillFolder[] = [];
  for (const manifest of files.filter((file) => isManifest(file) && isListed(relative(root, file)))) {
    const path = dirname(manifest);
    if (folders.some((folder) => isWithin(folder.path, path))) continue;
    const inside = files.filter((file) => file !== manifest && isWithin(path, file));
    const content = inside.map((file) => relative(path, file));
    folders.push({ path, manifest, content, resources: content.filter(isListed) });
  }
  const problem = findProblem(tree.isReadable, files.length);
  const fingerprint = [problem ?? "", ...files.map((file) => `${file} ${marks.get(file)}`)].join("\n");
  return { folders, fingerprint, marks, changedAt, ...(problem === undefined ? {} : { problem }) };
}

function isListed(path: string): boolean {
  return path.split("/").every((name) => !name.startsWith(".") && name !== "node_modules");
}

function isManifest(path: string): boolean {
  return /^skill\.md$/i.test(basename(path));
}

/** The times and the size of a file or folder; a folder's change when something in it comes, goes or is renamed. */
export async function markPath(path: string): Promise<string> {
  return formatMark(await stat(path).catch(() => undefined));
}

function formatMark(info: Stats | undefined): string {
  return info ? `${info.ino} ${info.size} ${info.mtimeMs} ${info.ctimeMs}` : "not there";
}

function findProblem(isReadable: boolean, count: number): string | undefined {
  if (!isReadable) return "The folder does not exist or cannot be read.";
  if (count < maxFiles) return undefined;
  return `Only the first ${maxFiles} files were looked at; name a folder that holds nothing but skills.`;
}

interface Tree {
  /** Those of a folder before those of its subfolders, each in the order of names. */
  files: string[];
  marks: Map<string, string>;
  changedAt: number;
  isReadable: boolean;
}

async function listTree(root: string, isWhole: boolean): Promise<Tree> {
  const tree: Tree = { files: [], marks: new Map(), changedAt: 0, isReadable: false };
  note(root, await stat(root).catch(() => undefined), tree);
  // What git keeps there is no part of a skill, and changes without it.
  const isWanted = isWhole ? (name: string) => name !== ".git" : isListed;
  tree.isReadable = await collect(root, 0, tree, isWanted);
  return tree;
}

/** To be called before what is in a folder is read, so that a later change of it shows. */
function note(path: string, info: Stats | undefined, tree: Tree): void {
  tree.marks.set(path, formatMark(info));
  // The time of the last change can't be set, unlike that of the last write.
  tree.changedAt = Math.max(tree.changedAt, info?.ctimeMs ?? 0);
}

/** False when the folder cannot be read. */
async function collect(
  folder: string,
  depth: number,
  tree: Tree,
  isWanted: (name: string) => boolean,
): Promise<boolean> {
  const names = await readdir(folder).catch(() => undefined);
  if (!names) return false;
  const wanted = names.filter(isWanted).toSorted();
  const entries = await Promise.all(
    wanted.map(async (name) => {
      const path = join(folder, name);
      // Follows links: an operator may link a skill's folder into place.
      return { path, info: await stat(path).catch(() => undefined) };
    }),
  );
  for (const { path, info } of entries) {
    note(path, info, tree);
    // A manifest that is a folder or leads nowhere is told when it is read.
    if ((info?.isFile() || isManifest(path)) && tree.files.length < maxFiles) tree.files.push(path);
  }
  for (const { path, info } of entries) {
    if (info?.isDirectory() && !isManifest(path) && depth < maxDepth && tree.files.length < maxFiles)
      await collect(path, depth + 1, tree, isWanted);
  }
  return true;
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
