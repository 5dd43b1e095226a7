// Finds what minutes should hold, and checks minutes against their source.
import { findCandidates } from "./lib/candidates.mts";
import { checkMinutes, sections } from "./lib/check.mts";
import { fail, print, readOptions, refuse } from "./lib/command.mts";
import { isFolder, readBytes, readLines } from "./lib/lines.mts";
import { kinds } from "./lib/patterns.mts";

const usage = `usage: notes.mts candidates SOURCE [--top N]
       notes.mts check MINUTES --source SOURCE

candidates lists the numbered lines of a transcript that look like decisions, actions, questions, risks, dates and
figures, and who spoke (- reads standard input).
check tests that each item of the minutes cites lines of the source, as in [L12] or [L12-L14], and that owners,
dates and figures come from there. It exits with 1 when something is wrong.
`;

const mostNames = 30;

const [command = "", ...args] = process.argv.slice(2);
if (/^(?:-h|--help|help)$/.test(command)) {
  print(usage);
  process.exit();
}
const { options, rest } = readOptions(args, { help: "flag", top: "integer", source: "text" });
if (options.help) {
  print(usage);
  process.exit();
}
if (command !== "candidates" && command !== "check") refuse(`unknown command '${command}'`);
const [file] = rest;
if (file === undefined || rest.length > 1) refuse("give one file");
const top = Math.max(0, options.top ?? 40);
if (command === "candidates") printCandidates(await readText(file));
else {
  if (options.source === undefined) refuse("check needs --source FILE");
  printCheck(file, await readText(file), await readText(options.source));
}

/** Lines from 1 on, so that an index is a line number. */
async function readText(path: string): Promise<string[]> {
  if (path !== "-" && isFolder(path)) fail(`${path} is a folder`);
  const lines = [""];
  for await (const more of readLines(readBytes(path))) {
    for (const line of more) lines.push(line.trimEnd());
  }
  if (lines.length === 1) fail(`${path} is empty`);
  return lines;
}

function printCandidates(lines: readonly string[]): void {
  const { spoken, found, dates, figures } = findCandidates(lines);
  const names = [...spoken].toSorted(([a, x], [b, y]) => y - x || compare(a, b));
  const shown = names.slice(0, mostNames).map(([name, count]) => `${name} (${count})`);
  print(`${lines.length - 1} lines; spoke: ${shown.length > 0 ? shown.join(", ") : "no names found"}\n`);
  for (const [index, { title }] of kinds.entries()) {
    const numbers = found[index] ?? [];
    print(`\n${title} (${numbers.length})\n`);
    for (const number of numbers.slice(0, top))
      print(`  L${String(number).padEnd(4)} ${cut(lines[number] ?? "", 200)}\n`);
    if (numbers.length > top) print(`  ${numbers.length - top} more (--top)\n`);
  }
  printPlaces("Dates", dates);
  printPlaces("Figures", figures);
}

function printPlaces(title: string, places: ReadonlyMap<string, number>): void {
  const sorted = [...places].toSorted(([a, x], [b, y]) => x - y || compare(a, b));
  print(`\n${title} (${sorted.length})\n`);
  const shown = sorted.slice(0, top).map(([text, number]) => `${text} (L${number})`);
  if (sorted.length > 0) print(`  ${shown.join(", ")}\n`);
}

function printCheck(path: string, minutes: readonly string[], source: readonly string[]): void {
  const { faults, items } = checkMinutes(path, minutes, source);
  if (faults.length === 0) {
    const counts = sections.map((section) => `${items.get(section)} ${section}`);
    print(`sound: ${counts.join(", ")}; all cite their source\n`);
    return;
  }
  print(faults.map((fault) => `${fault}\n`).join(""));
  print(`${faults.length} fault${faults.length === 1 ? "" : "s"}\n`);
  process.exitCode = 1;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** At most so many characters. */
function cut(text: string, length: number): string {
  const characters = text.length > length ? [...text] : [];
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
}
