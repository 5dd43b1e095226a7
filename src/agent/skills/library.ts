import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { explainUnreadable } from "../file-problems.ts";
import { skillsRoot } from "../../sandbox/sandbox.ts";
import { parseManifest } from "./manifest.ts";
import { type FolderScan, markPath, scanFolder, type SkillFolder } from "./scan.ts";

/** One skill: its first two levels in memory, its resources where the sandbox sees them. */
export interface Skill {
  name: string;
  description: string;
  /** Tools that its author expects to be used. A hint: it grants nothing. */
  expectedTools: string;
  /** The Markdown of its `SKILL.md`, untouched. */
  instructions: string;
  /** Its other files, relative to {@link mount}. */
  resources: readonly string[];
  /** Where its folder is on this host. Never shown to a model. */
  folder: string;
  /** Where its folder is in the sandbox. */
  mount: string;
}

export interface SkillSet {
  /** By name, each name once. */
  skills: readonly Skill[];
  /** Everything an operator should know, one sentence each: what was skipped, and what breaks a rule. */
  problems: readonly { path: string; reason: string }[];
}

/** The operator's skills, up to date without a restart. */
export interface SkillLibrary {
  /**
   * The skills as they are on disk. Unless something has changed, compares only times and sizes of the folders and of
   * what is read from them. A returned set never changes, so that a turn can keep it.
   */
  current(): Promise<SkillSet>;
  /** Where the folders of the set that was last returned belong in a sandbox; the same array until it changes. */
  mounts(): readonly { source: string; target: string }[];
}

export interface SkillOptions {
  /** Folders of the operator. If two skills have the same name, the one from the earlier folder wins. */
  folders: readonly string[];
  /** By skill name: `sha256-<hex>` of its content. A pinned skill whose content differs is not loaded. */
  pins?: Readonly<Record<string, string>>;
  /** The time by the clock that stamps the files, ms since the epoch. */
  now?(): number;
}

export function createSkillLibrary(options: SkillOptions): SkillLibrary {
  let known: { fingerprint: string; set: SkillSet } | undefined;
  /** What tells whether anything has changed since; absent where that cannot be trusted. */
  let marks: ReadonlyMap<string, string> | undefined;
  let looking: Promise<SkillSet> | undefined;
  let mounts: { source: string; target: string }[] = [];

  return {
    current() {
      // Turns that start together share one look.
      looking ??= look().finally(() => (looking = undefined));
      return looking;
    },
    mounts: () => mounts,
  };

  async function look(): Promise<SkillSet> {
    if (known && marks && (await areAsMarked(marks))) return known.set;
    return readFolders();
  }

  async function readFolders(): Promise<SkillSet> {
    const startedAt = (options.now ?? Date.now)();
    const hasPins = Object.keys(options.pins ?? {}).length > 0;
    const scans = await Promise.all(options.folders.map((folder) => scanFolder(folder, hasPins)));
    const isSettled = scans.every(({ changedAt }) => changedAt < startedAt - settledMs);
    marks = isSettled ? selectMarks(scans, hasPins) : undefined;
    const fingerprint = scans.map((scan) => scan.fingerprint).join("\n\n");
    if (known?.fingerprint === fingerprint) return known.set;
    const problems = scans.flatMap(({ problem }, index) =>
      problem === undefined ? [] : [{ path: options.folders[index] ?? "", reason: problem }],
    );
    const set = await loadSkills(
      scans.flatMap((scan) => scan.folders),
      options.pins ?? {},
    );
    mounts = set.skills.map(({ folder, mount }) => ({ source: folder, target: mount }));
    known = { fingerprint, set: { skills: set.skills, problems: [...problems, ...set.problems] } };
    return known.set;
  }
}

/** A file system may give two changes so close to each other the same time. */
const settledMs = 100;

/** Of the folders, and of the files that have been read: the manifests, or all where a pin may depend on them. */
function selectMarks(scans: readonly FolderScan[], hasPins: boolean): ReadonlyMap<string, string> {
  const all = scans.flatMap(({ marks }) => [...marks]);
  if (hasPins) return new Map(all);
  const folders = scans.flatMap((scan) => scan.folders);
  const unread = new Set(folders.flatMap(({ path, resources }) => resources.map((name) => join(path, name))));
  return new Map(all.filter(([path]) => !unread.has(path)));
}

async function areAsMarked(marks: ReadonlyMap<string, string>): Promise<boolean> {
  const now = await Promise.all([...marks.keys()].map(markPath));
  return [...marks.values()].every((mark, index) => mark === now[index]);
}

async function loadSkills(
  folders: readonly SkillFolder[],
  pins: Readonly<Record<string, string>>,
): Promise<SkillSet> {
  const skills = new Map<string, Skill>();
  const problems: { path: string; reason: string }[] = [];
  for (const folder of folders) {
    const loaded = await loadSkill(folder, pins);
    const taken = loaded.skill && skills.get(loaded.skill.name);
    if (taken) {
      const reason = `Skipped: ${taken.folder} has a skill of the same name; rename one of them.`;
      problems.push({ path: folder.manifest, reason });
      continue;
    }
    if (loaded.skill) skills.set(loaded.skill.name, loaded.skill);
    problems.push(...loaded.reasons.map((reason) => ({ path: folder.manifest, reason })));
  }
  const sorted = [...skills.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { skills: sorted, problems };
}

async function loadSkill(
  folder: SkillFolder,
  pins: Readonly<Record<string, string>>,
): Promise<{ skill?: Skill; reasons: string[] }> {
  try {
    const parsed = parseManifest(await readFile(folder.manifest, "utf8"), basename(folder.path));
    if (!parsed.ok) return { reasons: [`Skipped. ${parsed.reason}`] };
    const { manifest, warnings } = parsed;
    const pin = pins[manifest.name];
    const found = pin === undefined ? undefined : await hashOf(folder);
    if (found !== pin) {
      const reason = `Skipped: its content is ${found}, the pin is ${pin}; review the change, then pin the new value.`;
      return { reasons: [reason] };
    }
    const { path, resources } = folder;
    const skill = { ...manifest, resources, folder: path, mount: `${skillsRoot}/${manifest.name}` };
    return { skill, reasons: warnings.map((warning) => `Loaded, with a flaw. ${warning}`) };
  } catch (error) {
    // A file has vanished or cannot be read; the next scan tries again once something has changed.
    const words = error instanceof Error ? error.message : String(error);
    return { reasons: [`Skipped. ${explainUnreadable(folder.manifest, error) ?? words}`] };
  }
}

/** Hashes the names and contents of all files that its commands find, so that a change of either is detected. */
async function hashOf(folder: SkillFolder): Promise<string> {
  const hash = createHash("sha256");
  const manifest = basename(folder.manifest);
  for (const file of [manifest, ...folder.content]) {
    const content = await readFile(join(folder.path, file));
    hash.update(`${Buffer.byteLength(file)}:${file}${content.length}:`).update(content);
  }
  return `sha256-${hash.digest("hex")}`;
}
