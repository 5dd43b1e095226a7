// Drafts a changelog from a git history.
import { statSync } from "node:fs";
import { fail, print, readOptions, refuse } from "./lib/command.mts";
import { type Commit, commitFormat, parseCommits, takeOutReverts } from "./lib/commits.mts";
import { askGit } from "./lib/git.mts";
import { type Section, sectionOf, sections } from "./lib/sections.mts";

const usage = `usage: changes.mts [REPOSITORY] [--from REF] [--to REF] [--since DATE] [--path FOLDER]

Drafts a changelog in Markdown from the commits of a git repository (default: the current folder).
--from defaults to the last tag before --to (HEAD); without a tag the whole history is taken.
--since takes a date instead of --from, as in 2026-11-01.
--path keeps commits that touch a folder; it may be repeated.
`;

const { options, rest } = readOptions(process.argv.slice(2), {
  help: "flag",
  from: "text",
  to: "text",
  since: "text",
  path: "texts",
});
if (options.help) {
  print(usage);
  process.exit();
}
if (rest.length > 1) refuse("give one repository");
const { since, to = "HEAD" } = options;
if (options.from !== undefined && since !== undefined) refuse("give either --from or --since");
if (since !== undefined && !/^\d{4}-\d\d-\d\d/.test(since))
  refuse(`--since is a date like 2026-11-01, not '${since}'`);
const [repository = "."] = rest;
if (!statSync(repository, { throwIfNoEntry: false })?.isDirectory()) fail(`${repository} is no folder`);
const git = (...args: string[]) => askGit(repository, ...args);
if (git("cat-file", "-e", "HEAD") === undefined) fail(`${repository} is no git repository with commits`);
assertCommit(to);
const isShallow = git("rev-parse", "--is-shallow-repository")?.trim() === "true";
const from = options.from ?? (since === undefined ? findLastTag() : undefined);
if (from !== undefined) assertCommit(from);
const { left: commits, reverted } = takeOutReverts(readCommits());
const bySection = Map.groupBy(commits, sectionOf);
report();

function assertCommit(ref: string): void {
  if (!git("rev-parse", "--verify", "--quiet", `${ref}^{commit}`))
    fail(`there is no commit ${ref} in ${repository}`);
}

/** A tag on the end itself is the release to describe, so the search begins one commit earlier. */
function findLastTag(): string | undefined {
  return git("describe", "--tags", "--abbrev=0", `${to}^`)?.trimEnd();
}

function readCommits(): Commit[] {
  const limits = since === undefined ? [] : [`--since=${since}T00:00:00Z`];
  const range = from === undefined ? to : `${from}..${to}`;
  const format = `--format=${commitFormat}`;
  const log = git(
    "log",
    "--no-merges",
    "--no-color",
    "--name-only",
    format,
    ...limits,
    range,
    "--",
    ...(options.path ?? []),
  );
  return parseCommits(log ?? fail(`git log failed in ${repository}`));
}

function report(): void {
  const head = git("rev-parse", "--short", `${to}^{commit}`)?.trimEnd() ?? "";
  const authors = new Map<string, number>();
  for (const { author } of commits) authors.set(author, (authors.get(author) ?? 0) + 1);
  print(`# Changes from ${from ?? since ?? "the beginning"} to ${to === "HEAD" ? head : to}\n\n`);
  print(`${amount(commits.length, "commit")} by ${amount(authors.size, "author")}${describeDates()}\n`);
  if (isShallow) print("\nNote: this clone is shallow; older commits are missing.\n");
  for (const section of sections) {
    const found = bySection.get(section);
    if (!found) continue;
    const sorted = found.toSorted((a, b) => compare(a.scope ?? "~", b.scope ?? "~"));
    print(`\n## ${section}\n\n${sorted.map(describe).join("")}`);
  }
  if (reverted.length > 0)
    print(`\n## Reverted within the range\n\n${reverted.map((name) => `- ${name}\n`).join("")}`);
  if (commits.length === 0) return;
  const names = [...authors].toSorted(([a, x], [b, y]) => y - x || compare(a, b));
  print(`\n## Authors\n\n${names.map(([name, count]) => `${name} (${count})`).join(", ")}\n`);
  if (from !== undefined) proposeVersion(from);
}

function describeDates(): string {
  const dates = commits.map(({ date }) => date).toSorted();
  const [first, last] = [dates[0], dates.at(-1)];
  if (first === undefined) return "";
  return first === last ? `, ${first}` : `, ${first} to ${last}`;
}

function describe({ id, title, scope = "", pull, notice }: Commit): string {
  const place = pull === undefined ? id : `#${pull}, ${id}`;
  const breaking = notice === undefined ? "" : `  breaking: ${notice}\n`;
  return `- ${scope === "" ? "" : `${scope}: `}${title} (${place})\n${breaking}`;
}

function proposeVersion(version: string): void {
  const [, prefix = "", ...numbers] = /^(.*?)(\d+)\.(\d+)\.(\d+)$/s.exec(version) ?? [];
  const [major, minor, patch] = numbers.map(Number);
  if (major === undefined || minor === undefined || patch === undefined) return;
  const has = (section: Section) => bySection.has(section);
  const say = (next: string, reason: string) =>
    print(`\nNext version by semantic versioning: ${prefix}${next} (${reason})\n`);
  if (has("Breaking") && major > 0) say(`${major + 1}.0.0`, "it breaks something");
  else if (has("Breaking")) say(`0.${minor + 1}.0`, "it breaks something, before 1.0.0");
  else if (has("Added") || has("Deprecated")) say(`${major}.${minor + 1}.0`, "it adds something");
  else say(`${major}.${minor}.${patch + 1}`, "fixes only");
}

function amount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
