import type { ChangedFile, Line } from "./diff.mts";
import { generatedPath, sourcePath, testPath } from "./paths.mts";
import { type Level, rules } from "./rules.mts";

export interface Finding {
  level: Level;
  text: string;
  place?: string;
  /** The line that it was found in. */
  quote?: string;
}

/** Added lines from which on a new file counts as large. */
const largeFile = 800;

const locks = new Map([
  ["Cargo.toml", ["Cargo.lock"]],
  ["Gemfile", ["Gemfile.lock"]],
  ["composer.json", ["composer.lock"]],
  ["go.mod", ["go.sum"]],
  ["package.json", ["package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock"]],
  ["pyproject.toml", ["poetry.lock", "uv.lock", "pdm.lock"]],
]);

export function findingsIn(file: ChangedFile): Finding[] {
  if (generatedPath.test(file.path)) return [];
  return [...addedLines(file).flatMap((line) => findingsInLine(file.path, line)), ...findingsAbout(file)];
}

function addedLines({ lines }: ChangedFile): Line[] {
  return lines.filter((line) => line !== undefined).filter(({ sign }) => sign === "+");
}

function findingsInLine(path: string, { number, text }: Line): Finding[] {
  const found: Finding[] = [];
  for (const { level, text: kind, match, in: only, not, isSecret } of rules) {
    if ((only && !only.test(path)) || not?.test(path) || !match.test(text)) continue;
    const place = `${path}:${number}`;
    if (isSecret) return [...found, { level, text: kind, place }];
    found.push({
      level,
      text: kind,
      place,
      quote: [...text.trimStart().slice(0, 200)].slice(0, 100).join(""),
    });
  }
  return found;
}

function findingsAbout({ path, status, added, isBinary }: ChangedFile): Finding[] {
  const found: Finding[] = [];
  const tell = (level: Level, text: string) => found.push({ level, place: path, text });
  if (status === "added" && added > largeFile && sourcePath.test(path))
    tell("could", "a large new file; could it be split or generated?");
  if (status === "deleted" && testPath.test(path)) tell("should", "a test file is deleted");
  if (isBinary && status === "added") tell("could", "a binary file; is it needed in the repository?");
  if (/(?:^|\/)migrat\w*\//.test(path))
    tell("should", "a migration: check locks, defaults for old rows, and the way back");
  if (/^\.github\/workflows\/|^\.gitlab-ci|(?:^|\/)Jenkinsfile$|(?:^|\/)Dockerfile/.test(path))
    tell("should", "the build or deploy pipeline changes: check permissions and secrets");
  return found;
}

/** What one would expect beside the changes. */
export function findMissing(files: readonly ChangedFile[]): Finding[] {
  const paths = files.filter(({ status }) => status !== "deleted").map(({ path }) => path);
  const touched = files
    .filter(({ path }) => sourcePath.test(path) && !testPath.test(path))
    .reduce((sum, { added }) => sum + added, 0);
  const found: Finding[] = [];
  if (touched > 10 && !paths.some((path) => testPath.test(path)))
    found.push({ level: "should", text: `${touched} new lines of source and no change in a test` });
  for (const [manifest, names] of locks) {
    const changed = files.find(({ path }) => isNamed(path, manifest));
    const isLocked = names.some((name) => paths.some((path) => isNamed(path, name)));
    if (changed && !isLocked && addedLines(changed).some(({ text }) => /["'=]\s*[\^~>=v]*\d+\.\d/.test(text)))
      found.push({ level: "should", place: changed.path, text: "versions change, and no lock file does" });
    if (isLocked && !changed)
      found.push({ level: "should", text: `a lock file changes, and no ${manifest} does` });
  }
  return found;
}

function isNamed(path: string, name: string): boolean {
  return path === name || path.endsWith(`/${name}`);
}
