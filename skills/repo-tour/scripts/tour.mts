// Maps a git repository. Reads only; runs nothing of the repository.
import { statSync } from "node:fs";
import { fail, print, readOptions, refuse } from "./lib/command.mts";
import { describeManifest } from "./lib/commands.mts";
import {
  document,
  entryPoint,
  languageOf,
  leftOut,
  manifest,
  pipeline,
  test,
  topFolder,
} from "./lib/names.mts";
import { type RecentCommit, Repository } from "./lib/repository.mts";
import { amount, byCount, compare, padEnd, percent, tally, thousands } from "./lib/text.mts";

const usage = `usage: tour.mts map [REPOSITORY] [--months N] [--top N]
       tour.mts who REPOSITORY PATH [--top N]

map prints what a git repository consists of: languages, folders, commands, entry points, hot spots, open ends.
who prints who changed a file or folder, and its code owners.
--months limits hot spots and authors to the last N months before the last commit (default 12).
`;

const daySeconds = 86_400;

interface Size {
  files: number;
  lines: number;
}

const [command = "", ...args] = process.argv.slice(2);
if (/^(?:-h|--help|help)$/.test(command)) {
  print(usage);
  process.exit();
}
const { options, rest } = readOptions(args, { help: "flag", months: "integer", top: "integer" });
if (options.help) {
  print(usage);
  process.exit();
}
const { months = 12, top: most = 12 } = options;
const [folder = ".", path = ""] = rest;
if (command !== "map" && command !== "who") refuse(`unknown command '${command}'`);
if (command === "map" && rest.length > 1) refuse("map takes one repository");
if (command === "who" && rest.length !== 2) refuse("who takes a repository and a path");
if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) fail(`${folder} is no folder`);
const repository = new Repository(folder);
const [newest] = repository.lines("log", "-1", "--format=%ct");
if (newest === undefined) fail(`${folder} is no git repository with commits`);
const now = Number(newest);
if (command === "map") printMap();
else printWho();

function printMap(): void {
  const all = repository.files();
  const files = all.filter((file) => !leftOut.test(file));
  const lines = repository.countLines(files);
  const commits = repository.recentCommits(now - months * 30 * daySeconds);
  printHeading();
  printSection("languages", describeLanguages(files, lines));
  const when = `the last ${amount(months, "month")}`;
  printSection(`folders (main authors of ${when})`, describeFolders(files, lines, commits));
  const manifests = files.filter((file) => manifest.test(file));
  printSection(
    "commands",
    manifests.flatMap((file) => {
      const text = repository.text(file);
      return text === undefined ? [] : describeManifest(file, text);
    }),
  );
  for (const [title, pattern] of [
    ["entry points (by name)", entryPoint],
    ["documents", document],
    ["pipelines and images", pipeline],
  ] as const)
    printSection(title, takeTop(files.filter((file) => pattern.test(file))));
  printSection("tests", describeTests(files));
  printSection("changed most", describeChanges(files, commits));
  const code = [...lines].filter(([file]) => !/\.(?:json|md|csv|txt)$/.test(file));
  printSection(
    "largest",
    takeTop(code.toSorted(byCount)).map(([file, count]) => `${thousands(count).padStart(6)} lines  ${file}`),
  );
  printSection("open ends (TODO, FIXME, XXX, HACK)", describeOpenEnds());
  const left = all.length - files.length;
  if (left > 0) print(`\n${amount(left, "generated or vendored file")} left out\n`);
}

function printHeading(): void {
  const first = (...question: string[]) => repository.lines(...question)[0];
  const branch = first("rev-parse", "--abbrev-ref", "HEAD") ?? "";
  const count = Number(first("rev-list", "--count", "HEAD"));
  const since = first("log", "--max-parents=0", "--format=%cs", "HEAD") ?? "";
  const last = first("log", "-1", "--format=%cs %h %s") ?? "";
  const tag = first("describe", "--tags", "--abbrev=0");
  print(
    `${branch}, ${amount(count, "commit")} since ${since}${tag === undefined ? "" : `, last tag ${tag}`}\n`,
  );
  print(`last: ${last}\n`);
}

function describeLanguages(files: readonly string[], lines: ReadonlyMap<string, number>): string[] {
  const sizes = new Map<string, Size>();
  for (const file of files) {
    const language = languageOf(file);
    const count = lines.get(file);
    if (language !== undefined && count !== undefined) addSize(sizes, language, count);
  }
  const total = [...sizes.values()].reduce((sum, size) => sum + size.lines, 0) || 1;
  return takeTop(sortBySize(sizes)).map(
    ([language, size]) =>
      `${padEnd(language, 18)} ${describeSize(size)}  ${percent(size.lines, total).padStart(5)}`,
  );
}

function describeFolders(
  files: readonly string[],
  lines: ReadonlyMap<string, number>,
  commits: readonly RecentCommit[],
): string[] {
  const sizes = new Map<string, Size>();
  for (const file of files) addSize(sizes, topFolder(file), lines.get(file) ?? 0);
  const authors = new Map<string, Map<string, number>>();
  for (const { author, files: touched } of commits) {
    for (const name of new Set(touched.map(topFolder))) {
      const counts = authors.get(name) ?? new Map<string, number>();
      authors.set(name, counts);
      tally(counts, author);
    }
  }
  return takeTop(sortBySize(sizes)).map(([name, size]) => {
    const main = [...(authors.get(name) ?? [])].toSorted(byCount).slice(0, 3);
    return `${padEnd(name, 28)} ${describeSize(size)}  ${listCounts(main)}`;
  });
}

function describeTests(files: readonly string[]): string[] {
  const tests = files.filter((file) => test.test(file));
  if (tests.length === 0) return [];
  const folders = new Map<string, number>();
  for (const file of tests) tally(folders, /^(.*)\//s.exec(file)?.[1] ?? ".");
  return [`${amount(tests.length, "file")} in ${listCounts(takeTop([...folders].toSorted(byCount)))}`];
}

function describeChanges(files: readonly string[], commits: readonly RecentCommit[]): string[] {
  const existing = new Set(files);
  const changes = new Map<string, number>();
  for (const file of commits.flatMap((commit) => commit.files)) {
    if (existing.has(file)) tally(changes, file);
  }
  return takeTop([...changes].toSorted(byCount)).map(
    ([file, count]) => `${String(count).padStart(4)}x  ${file}`,
  );
}

function describeOpenEnds(): string[] {
  const marks = new Map<string, number>();
  for (const hit of repository.lines("grep", "-I", "-c", "-w", "-E", "TODO|FIXME|XXX|HACK", "--", ".")) {
    const [, file, count] = /^(.*):(\d+)$/s.exec(hit) ?? [];
    if (file !== undefined && !leftOut.test(file)) marks.set(file, Number(count));
  }
  if (marks.size === 0) return [];
  const total = [...marks.values()].reduce((sum, count) => sum + count, 0);
  return [`${amount(total, "mark")}: ${listCounts(takeTop([...marks].toSorted(byCount)))}`];
}

interface Person {
  commits: number;
  recent: number;
  added: number;
  first: string;
  last: string;
}

function printWho(): void {
  const people = readPeople();
  const sorted = [...people].toSorted(
    ([a, x], [b, y]) => y.recent - x.recent || y.commits - x.commits || compare(a, b),
  );
  const head = ["commits".padStart(8), "last 90 days".padStart(12), "added".padStart(10)];
  print(`${padEnd("who", 28)} ${head.join(" ")}  from to\n`);
  for (const [name, { commits, recent, added, first, last }] of takeTop(sorted)) {
    const figures = [String(commits).padStart(8), String(recent).padStart(12), thousands(added).padStart(10)];
    print(`${padEnd(name, 28)} ${figures.join(" ")}  ${first} ${last}\n`);
  }
  if (sorted.length > most) print(`(${sorted.length - most} more)\n`);
  for (const owners of [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"]) {
    const text = repository.text(owners);
    if (text === undefined) continue;
    const rules = text.split("\n").filter((line) => /^\s*[^#\s]/.test(line));
    print(`\n${owners}\n${rules.map((line) => `  ${line}\n`).join("")}`);
    return;
  }
}

function readPeople(): Map<string, Person> {
  const format = "--format=%x1e%aN%x1f%ct%x1f%cs";
  const log = repository.lines("log", "--no-merges", "--numstat", format, "--", path);
  if (log.length === 0) fail(`no commit touches ${path} in ${folder}; give a path below the repository`);
  const people = new Map<string, Person>();
  let person: Person | undefined;
  for (const line of log) {
    if (line.startsWith("\x1E")) {
      const [name = "", time, date = ""] = line.slice(1).split("\x1F");
      person = people.get(name) ?? { commits: 0, recent: 0, added: 0, first: date, last: date };
      people.set(name, person);
      person.commits++;
      if (Number(time) > now - 90 * daySeconds) person.recent++;
      person.first = date;
    } else if (person) person.added += Number(/^(\d+)\t/.exec(line)?.[1] ?? 0);
  }
  return people;
}

function printSection(title: string, lines: readonly string[]): void {
  print(`\n${title}\n${lines.length > 0 ? lines.map((line) => `  ${line}\n`).join("") : "  none found\n"}`);
}

function takeTop<Item>(items: readonly Item[]): Item[] {
  return items.slice(0, Math.max(0, most));
}

function addSize(sizes: Map<string, Size>, name: string, lines: number): void {
  const size = sizes.get(name) ?? { files: 0, lines: 0 };
  sizes.set(name, { files: size.files + 1, lines: size.lines + lines });
}

function sortBySize(sizes: ReadonlyMap<string, Size>): [string, Size][] {
  return [...sizes].toSorted(([a, x], [b, y]) => y.lines - x.lines || compare(a, b));
}

function describeSize({ files, lines }: Size): string {
  return `${thousands(lines).padStart(6)} lines  ${thousands(files).padStart(5)} files`;
}

function listCounts(counts: readonly (readonly [string, number])[]): string {
  return counts.map(([name, count]) => `${name} (${count})`).join(", ");
}
