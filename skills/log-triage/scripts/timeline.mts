// Merges logs and notes into one timeline.
import { existsSync } from "node:fs";
import { fail, print, readOptions, refuse } from "./lib/command.mts";
import { nameOf, readLog } from "./lib/logs.mts";
import { readPattern } from "./lib/pattern.mts";
import { cut } from "./lib/text.mts";
import { findTime, readTime, showClock, showDate } from "./lib/times.mts";

const usage = `usage: timeline.mts [LABEL[@ZONE]=]FILE... [--since TIME] [--until TIME] [--around TIME --minutes N]
                    [--grep REGEX] [--gap MINUTES] [--limit N] [--zone +HH:MM] [--year YYYY]

Merges files with times into one timeline in UTC. - reads standard input; .gz files are read as they are.
LABEL names a file in the timeline, ZONE is the zone of its times, as in db@+02:00=postgres.log.
--around shows N minutes (default 5) before and after a time.
--gap marks silences of at least so many minutes (default 10; 0 marks none).
`;

interface Event {
  time: number;
  label: string;
  text: string;
  place: string;
}

/** One line of the timeline: events that follow each other and differ in numbers only. */
interface Shown extends Event {
  form: string;
  times: number;
  last: number;
}

const { options, rest: sources } = readOptions(process.argv.slice(2), {
  help: "flag",
  since: "text",
  until: "text",
  around: "text",
  minutes: "number",
  grep: "text",
  gap: "number",
  limit: "integer",
  zone: "text",
  year: "integer",
});
if (options.help) {
  print(usage);
  process.exit();
}
if (sources.length === 0) refuse("give at least one file");
if (options.around !== undefined && (options.since !== undefined || options.until !== undefined))
  refuse("give --around, or --since and --until");
const { gap = 10, limit = 300, zone: usualZone = "+00:00" } = options;
const year = options.year ?? new Date().getUTCFullYear();
const margin = 60 * (options.minutes ?? 5);
const since = readLimit("since") ?? subtract(readLimit("around"), margin) ?? -Infinity;
const until = readLimit("until") ?? subtract(readLimit("around"), -margin) ?? Infinity;
const grep = options.grep === undefined ? undefined : readPattern(options.grep);
if (options.grep !== undefined && !grep) refuse("--grep is no valid regular expression");

const events: Event[] = [];
/** Lines before the first time of a file. */
const undated = new Map<string, number>();
for (const source of sources) await readSource(source);
// The order of what happened at the same time stays that of the files.
events.sort((a, b) => a.time - b.time);
report();

function readLimit(name: "since" | "until" | "around"): number | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  const time = readTime(text, { zone: usualZone, year });
  return time ?? refuse(`--${name} is a time like '2026-11-20 10:41', not '${text}'`);
}

function subtract(time: number | undefined, seconds: number): number | undefined {
  return time === undefined ? undefined : time - seconds;
}

async function readSource(source: string): Promise<void> {
  const { label, zone, path } = parseSource(source);
  const name = nameOf(path);
  let number = 0;
  let isDated = false;
  for await (const lines of readLog(path)) {
    for (const line of lines) {
      number++;
      const found = findTime(line, { zone, year });
      if (!found) {
        if (!isDated && line !== "") undated.set(name, (undated.get(name) ?? 0) + 1);
        continue;
      }
      isDated = true;
      const { time } = found;
      if (time < since || time > until || (grep && !grep.test(line))) continue;
      events.push({ time, label, text: found.rest.replace(/^[\s|,;:\]-]+/, ""), place: `${name}:${number}` });
    }
  }
  if (!isDated) fail(`${path} holds no line with a time; add times like 2026-11-20 10:41 to it`);
}

/** A file whose name holds the sign is meant as it is. */
function parseSource(source: string): { label: string; zone: string; path: string } {
  const [, label, zone = usualZone, path] = existsSync(source)
    ? []
    : (/^([^=@/]+)(?:@([+-]\d\d:?\d\d))?=(.+)$/s.exec(source) ?? []);
  if (label !== undefined && path !== undefined) return { label, zone, path };
  return { label: nameOf(source).replace(/\.(?:log|txt)?(?:\.gz)?$/, ""), zone: usualZone, path: source };
}

function report(): void {
  if (events.length === 0) {
    print("no events in this range; widen --since and --until, or --grep\n");
    return;
  }
  const lines = collapse();
  const shown = lines.slice(0, limit);
  printEvents(shown);
  const left = lines.length - shown.length;
  if (left > 0) print(`\n${left} more lines; raise --limit or narrow the range\n`);
  const names = [...undated]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} (${count})`);
  const before = names.length > 0 ? `; lines before the first time were left out: ${names.join(", ")}` : "";
  print(`\n${events.length} events${before}\n`);
}

function printEvents(shown: readonly Shown[]): void {
  const width = shown.reduce((widest, { label }) => Math.max(widest, [...label].length), 0);
  let day = "";
  let before: number | undefined;
  for (const { time, label, text, place, times, last } of shown) {
    const today = showDate(time);
    if (today !== day) print(`-- ${today} (UTC)\n`);
    day = today;
    if (gap > 0 && before !== undefined && time - before >= 60 * gap)
      print(`   ... ${showDuration(time - before)} without events\n`);
    const repeated = times > 1 ? ` (x${times}, until ${showClock(last)})` : "";
    const padded = label + " ".repeat(width - [...label].length);
    print(`${showClock(time)}  ${padded}  ${cut(text, 240)}${repeated}  [${place}]\n`);
    before = last;
  }
}

function collapse(): Shown[] {
  const shown: Shown[] = [];
  for (const event of events) {
    const form = `${event.label} ${event.text}`.replaceAll(/\d+/g, "0");
    const previous = shown.at(-1);
    if (previous?.form === form) {
      previous.times++;
      previous.last = event.time;
    } else shown.push({ ...event, form, times: 1, last: event.time });
  }
  return shown;
}

function showDuration(seconds: number): string {
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.trunc(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}
