// Groups the errors of logs by cause.
import { causeOf, classify, normalForm, type Rank } from "./lib/classify.mts";
import { print, readOptions, refuse } from "./lib/command.mts";
import { nameOf, readLog } from "./lib/logs.mts";
import { readPattern } from "./lib/pattern.mts";
import { amount, cut, thousands } from "./lib/text.mts";
import { findTime, readTime, showClock, showDate, showTime } from "./lib/times.mts";

const usage = `usage: triage.mts FILE... [--level error|warn|all] [--since TIME] [--until TIME] [--grep REGEX]
                  [--sort count|first] [--top N] [--zone +HH:MM] [--year YYYY]

Groups the errors of log files by cause. - reads standard input; .gz files are read as they are.
--level warn adds warnings, all adds everything.
--since and --until take times like '2026-11-20 10:41' (UTC, or in --zone).
--zone and --year complete times that lack them.
`;

/** Lines that are kept of one stack trace. */
const longestTrace = 200;

/** What a bar of the histogram may stand for, in seconds. */
const steps = [1, 5, 10, 60, 300, 600, 1800, 3600, 10_800, 21_600, 86_400, 604_800, 2_592_000, 31_536_000];

/** A line with what belongs to it. */
interface Entry {
  line: string;
  /** Without its time. */
  text: string;
  time: number | undefined;
  place: string;
  file: string;
  trace: string[];
}

interface Group {
  count: number;
  form: string;
  sample: Entry;
  cause: string | undefined;
  files: Set<string>;
  first?: number;
  last?: number;
}

const { options, rest: files } = readOptions(process.argv.slice(2), {
  help: "flag",
  level: "text",
  since: "text",
  until: "text",
  grep: "text",
  sort: "text",
  top: "integer",
  zone: "text",
  year: "integer",
});
if (options.help) {
  print(usage);
  process.exit();
}
if (files.length === 0) refuse("give at least one file");
const { level = "error", sort = "count", top = 10, zone = "+00:00" } = options;
const defaults = { zone, year: options.year ?? new Date().getUTCFullYear() };
const least = ["all", "warn", "error"].indexOf(level);
if (least < 0) refuse(`--level is error, warn or all, not '${level}'`);
if (sort !== "count" && sort !== "first") refuse(`--sort is count or first, not '${sort}'`);
if (!/^[+-]\d\d:?\d\d$/.test(zone)) refuse(`--zone is an offset like +02:00, not '${zone}'`);
const since = readLimit("since") ?? -Infinity;
const until = readLimit("until") ?? Infinity;
const isLimited = options.since !== undefined || options.until !== undefined;
const grep = options.grep === undefined ? undefined : readPattern(options.grep);
if (options.grep !== undefined && !grep) refuse("--grep is no valid regular expression");

const groups = new Map<string, Group>();
/** Of the entries that were counted. */
const times: number[] = [];
let lineCount = 0;
let undated = 0;
let hiddenWarnings = 0;
let earliest = Infinity;
let latest = -Infinity;
for (const path of files) await readFile(path);
report();

function readLimit(name: "since" | "until"): number | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  return readTime(text, defaults) ?? refuse(`--${name} is a time like '2026-11-20 10:41', not '${text}'`);
}

async function readFile(path: string): Promise<void> {
  const file = nameOf(path);
  let entry: Entry | undefined;
  let isDated = false;
  let number = 0;
  for await (const lines of readLog(path)) {
    for (const line of lines) {
      number++;
      if (line === "") continue;
      const found = findTime(line, defaults);
      // In a log with times a line without one belongs to the line before; else indentation tells.
      if (!found && entry && (isDated || /^(?:\s|at |Caused by|Traceback|\.\.\. )/.test(line))) {
        if (entry.trace.length < longestTrace) entry.trace.push(line);
        continue;
      }
      if (entry) count(entry);
      if (found) {
        isDated = true;
        earliest = Math.min(earliest, found.time);
        latest = Math.max(latest, found.time);
      } else undated++;
      const place = `${file}:${number}`;
      entry = { line, text: found?.rest ?? line, time: found?.time, place, file, trace: [] };
    }
  }
  lineCount += number;
  if (entry) count(entry);
}

function count(entry: Entry): void {
  const { time, line, trace } = entry;
  if (isLimited && (time === undefined || time < since || time > until)) return;
  if (grep && !grep.test(line) && !trace.some((traced) => grep.test(traced))) return;
  const { rank, message } = classify(line, entry.text);
  if (rank < least) {
    hide(rank);
    return;
  }
  const cause = causeOf(trace);
  const form = normalForm(message);
  const key = form.slice(0, 300) + (cause === undefined ? "" : `\x1F${normalForm(cause)}`);
  const group = groups.get(key) ?? { count: 0, form, sample: entry, cause, files: new Set() };
  if (group.count === 0) groups.set(key, group);
  group.count++;
  group.files.add(entry.file);
  if (time === undefined) return;
  times.push(time);
  if (group.first === undefined || time < group.first) [group.first, group.sample] = [time, entry];
  group.last = Math.max(group.last ?? time, time);
}

function hide(rank: Rank): void {
  if (rank === 1) hiddenWarnings++;
}

function report(): void {
  const hasTimes = latest >= earliest;
  const span = hasTimes ? `${showTime(earliest)} to ${showTime(latest)} UTC` : "no times found";
  print(`${amount(files.length, "file")}, ${amount(lineCount, "line")}, ${span}\n`);
  if (undated > 0 && hasTimes)
    print(`${amount(undated, "line")} without a time${isLimited ? ", left out" : ""}\n`);
  const sorted = [...groups.values()].toSorted(sort === "first" ? compareFirst : compareCount);
  const total = sorted.reduce((sum, group) => sum + group.count, 0);
  const warnings = hiddenWarnings > 0 ? `; ${amount(hiddenWarnings, "warning")} more with --level warn` : "";
  print(`${describeTotal(total)} in ${amount(sorted.length, "group")}${warnings}\n`);
  const shown = sorted.slice(0, top);
  shown.forEach(printGroup);
  const left = sorted.length - shown.length;
  if (left > 0) print(`\n${amount(left, "smaller group")} not shown (--top)\n`);
  if (times.length > 1) printHistogram();
}

function compareFirst(a: Group, b: Group): number {
  return (a.first ?? 9e18) - (b.first ?? 9e18) || b.count - a.count;
}

function compareCount(a: Group, b: Group): number {
  return b.count - a.count || (a.first ?? 0) - (b.first ?? 0) || (a.form < b.form ? -1 : 1);
}

function describeTotal(total: number): string {
  if (level === "all") return total === 1 ? "1 entry" : `${thousands(total)} entries`;
  return level === "warn" ? `${thousands(total)} errors and warnings` : amount(total, "error");
}

function printGroup(group: Group, index: number): void {
  const { sample, form, cause } = group;
  const names = [...group.files].toSorted().join(", ");
  print(`\n#${index + 1}  ${thousands(group.count)}x  ${spanOf(group)}  ${names}\n`);
  if (group.count > 1) print(`    ${cut(form, 200)}\n`);
  print(`    ${sample.place}  ${cut(sample.line, 300)}\n`);
  const [first] = sample.trace;
  if (first === undefined) return;
  print(`    trace of ${amount(sample.trace.length, "line")}: ${cut((cause ?? first).trimStart(), 200)}\n`);
}

function spanOf({ first, last, count: size }: Group): string {
  if (first === undefined || last === undefined) return "no time";
  if (size === 1) return showTime(first);
  return `${showTime(first)} to ${showDate(first) === showDate(last) ? showClock(last) : showTime(last)}`;
}

function printHistogram(): void {
  const from = times.reduce((first, time) => Math.min(first, time));
  const to = times.reduce((last, time) => Math.max(last, time));
  const step = steps.find((candidate) => (to - from) / candidate <= 24);
  if (step === undefined) return;
  const slotOf = (time: number) => Math.trunc(time / step);
  const counts = new Map<number, number>();
  for (const time of times) counts.set(slotOf(time), (counts.get(slotOf(time)) ?? 0) + 1);
  const largest = [...counts.values()].reduce((most, size) => Math.max(most, size));
  print(`\nper ${nameStep(step)} (UTC)\n`);
  for (let slot = slotOf(from); slot <= slotOf(to); slot++) {
    const size = counts.get(slot) ?? 0;
    const bar = "█".repeat(Math.trunc(0.999 + (30 * size) / largest));
    print(`  ${showSlot(slot * step, step)} ${bar}${bar === "" ? "" : " "}${size}\n`);
  }
}

function nameStep(step: number): string {
  if (step < 60) return `${step} s`;
  if (step < 3600) return `${step / 60} min`;
  return step < 86_400 ? `${step / 3600} h` : `${step / 86_400} d`;
}

function showSlot(time: number, step: number): string {
  if (step < 60) return showClock(time);
  return step < 86_400 ? `${showDate(time).slice(-5)} ${showClock(time).slice(0, 5)}` : showDate(time);
}
