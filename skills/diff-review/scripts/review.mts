// Maps a unified diff and looks for known risks in its new lines.
import { fail, print, readOptions, refuse } from "./lib/command.mts";
import { type ChangedFile, readDiff } from "./lib/diff.mts";
import { findingsIn, findMissing } from "./lib/findings.mts";
import { isFolder } from "./lib/lines.mts";
import { generatedPath, testPath } from "./lib/paths.mts";

const usage = `usage: review.mts summary DIFF [--all]
       review.mts lines DIFF FILE

summary prints the files of a unified diff and findings as file:line. --all shows every finding of a kind.
lines prints the new side of one file's hunks with line numbers; + marks what was added.
DIFF is a patch file; - reads standard input, as in: git diff main...HEAD | review.mts summary -
`;

/** Findings of one kind that are shown without --all. */
const mostOfKind = 5;
const levels = ["must", "should", "could"];

const [command = "", ...args] = process.argv.slice(2);
if (/^(?:-h|--help|help)$/.test(command)) {
  print(usage);
  process.exit();
}
const { options, rest } = readOptions(args, { help: "flag", all: "flag" });
if (options.help) {
  print(usage);
  process.exit();
}
const [diff = "", wanted = ""] = rest;
if (command === "summary") {
  if (rest.length !== 1) refuse("summary takes one diff");
  printSummary(await readFiles(diff));
} else if (command === "lines") {
  if (rest.length !== 2) refuse("lines takes a diff and a file");
  printLines(wanted, await readFiles(diff));
} else refuse(`unknown command '${command}'`);

async function readFiles(path: string): Promise<ChangedFile[]> {
  if (path !== "-" && isFolder(path)) fail(`${path} is a folder`);
  const files = await readDiff(path);
  if (files.length > 0) return files;
  fail(
    path === "-"
      ? "standard input holds no unified diff"
      : `${path} holds no unified diff; make one with: git diff main...HEAD > ${path}`,
  );
}

function printSummary(files: readonly ChangedFile[]): void {
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  print(`${files.length} file${files.length === 1 ? "" : "s"}, +${added} -${removed}\n\n`);
  const sorted = files.toSorted(
    (a, b) => b.added + b.removed - (a.added + a.removed) || (a.path < b.path ? -1 : a.path > b.path ? 1 : 0),
  );
  const width = Math.min(
    70,
    files.reduce((widest, { path }) => Math.max(widest, [...path].length), 0),
  );
  for (const file of sorted) {
    const path = file.path + " ".repeat(Math.max(0, width - [...file.path].length));
    const figures = `${`+${file.added}`.padStart(5)} ${`-${file.removed}`.padStart(5)}`;
    print(`${`  ${path}  ${figures}  ${notesOf(file)}`.trimEnd()}\n`);
  }
  printFindings(files);
}

function notesOf({ path, from, status, isBinary, isExecutable }: ChangedFile): string {
  const notes = [
    status === "changed" ? "" : status === "renamed" ? `renamed from ${from}` : status,
    isBinary ? "binary" : "",
    testPath.test(path) ? "test" : "",
    generatedPath.test(path) ? "generated" : "",
    isExecutable ? "executable" : "",
  ];
  return notes.filter((note) => note !== "").join(", ");
}

function printFindings(files: readonly ChangedFile[]): void {
  const findings = [...files.flatMap(findingsIn), ...findMissing(files)].toSorted(
    (a, b) => levels.indexOf(a.level) - levels.indexOf(b.level),
  );
  print("\nfindings (patterns, read each place)\n");
  if (findings.length === 0) print("  none\n");
  const counts = new Map<string, number>();
  for (const { level, text, place, quote } of findings) {
    const kind = `${level} ${text}`;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    if (count > mostOfKind && !options.all) continue;
    print(`  ${level}  ${place === undefined ? "" : `${place}  `}${text}${quote ? `: ${quote}` : ""}\n`);
  }
  if (options.all) return;
  for (const kind of [...counts.keys()].toSorted()) {
    const more = (counts.get(kind) ?? 0) - mostOfKind;
    if (more > 0) print(`  ${more} more of: ${kind} (--all)\n`);
  }
}

function printLines(path: string, files: readonly ChangedFile[]): void {
  const file = files.find((candidate) => candidate.path === path);
  if (!file)
    fail(`the diff does not touch ${path}; it touches: ${files.map((each) => each.path).join(", ")}`);
  const kind = file.status + (file.isBinary ? ", binary" : "");
  if (file.lines.length === 0) fail(`${path} has no text in the diff (${kind})`);
  for (const line of file.lines) {
    print(line ? `${String(line.number).padStart(6)} ${line.sign} ${line.text}\n` : "   ...\n");
  }
}
