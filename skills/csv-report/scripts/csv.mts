// Profiles, groups and filters delimited text.
import { hash } from "node:crypto";
import { Column } from "./lib/columns.mts";
import { fail, print, readOptions, refuse } from "./lib/command.mts";
import { isFolder, readBytes, readLines } from "./lib/lines.mts";
import { readPattern } from "./lib/pattern.mts";
import { amount, cut, fixed, listing, round, table, thousands } from "./lib/print.mts";
import { chooseDelimiter, possibleDelimiters, recordReader, splitRecord } from "./lib/records.mts";
import { compare, compareValues, isEmpty, readNumber } from "./lib/values.mts";

const usage = `usage: csv.mts profile FILE [--top N]
       csv.mts group FILE --by COLUMN [--by COLUMN] [--sum COLUMN | --mean COLUMN] [--where CONDITION] [--top N] [--bars]
       csv.mts rows FILE [--where CONDITION] [--columns A,B] [--limit N]

FILE is delimited text with a header line; - reads standard input.
--by COLUMN:N groups by the first N characters of a column.
--where takes COLUMN=VALUE, !=, <, <=, >, >= or ~ (regular expression), and may be repeated.
--delimiter C sets the delimiter (default: found from the header; \\t is a tab).
`;

/** Rows that duplicates are looked for in. */
const mostCompared = 1_000_000;
/** A longer row is compared by its hash, which takes less memory. */
const longestKey = 64;

/** What becomes of the records, one after the other. */
interface Command {
  take(record: readonly string[]): void;
  end(): void;
}

type Condition = (record: readonly string[]) => boolean;

const commands: Record<string, () => Command> = { profile, group, rows };
const [name = "", ...args] = process.argv.slice(2);
if (/^(?:-h|--help|help)$/.test(name)) {
  print(usage);
  process.exit();
}
const createCommand = Object.hasOwn(commands, name) ? commands[name] : undefined;
if (createCommand === undefined) refuse(`unknown command '${name}'`);
const { options, rest } = readOptions(args, {
  help: "flag",
  delimiter: "text",
  top: "integer",
  by: "texts",
  sum: "text",
  mean: "text",
  where: "texts",
  bars: "flag",
  columns: "text",
  limit: "integer",
});
if (options.help) {
  print(usage);
  process.exit();
}
const [file] = rest;
if (file === undefined || rest.length > 1) refuse("give one file");
if (file !== "-" && isFolder(file)) fail(`${file} is a folder`);
const top = options.top ?? 10;

/** Any of them, until the header tells. */
let delimiter = possibleDelimiters;
if (options.delimiter !== undefined) delimiter = chooseDelimiter("", options.delimiter);
let header: readonly string[] = [];
let conditions: readonly Condition[] = [];
let command: Command | undefined;
const records = recordReader();
for await (const lines of readLines(readBytes(file))) {
  for (const line of lines) {
    if (line.includes("\0")) fail(`${file} is not text; export it as CSV first`);
    const record = records.take(line, delimiter);
    if (record === undefined) continue;
    if (command) {
      command.take(splitRecord(record, delimiter));
      continue;
    }
    delimiter = chooseDelimiter(record, options.delimiter);
    header = splitRecord(record, delimiter).map((title) => title.trim().replaceAll(/\s+/g, " "));
    conditions = (options.where ?? []).map(parseCondition);
    command = createCommand();
  }
}
records.end();
if (command === undefined) fail(`${file} is empty`);
command.end();

// --- commands ---

function profile(): Command {
  const columns = header.map((title) => new Column(title, delimiter));
  const ragged: string[] = [];
  const seen = new Map<string, number>();
  let count = 0;
  let duplicates = 0;
  let example = "";

  function compareRows(record: readonly string[]): void {
    const text = record.join("\x1f");
    const key = text.length > longestKey ? hash("sha256", text, "base64") : text;
    const earlier = seen.get(key);
    if (earlier === undefined) {
      seen.set(key, count);
      return;
    }
    duplicates++;
    if (example === "") example = `row ${count} repeats row ${earlier}`;
  }

  function findings(): string[] {
    const found: string[] = [];
    if (ragged.length > 0)
      found.push(`ragged rows (fields): ${listing(ragged)}; the header has ${header.length} fields`);
    if (duplicates > 0) found.push(`${amount(duplicates, "duplicate row")}, for example ${example}`);
    const uses = Map.groupBy(header, (title) => title);
    for (const [title, { length }] of [...uses].toSorted(([a], [b]) => compare(a, b))) {
      if (length > 1) found.push(`the column name '${title}' is used ${length} times`);
    }
    return [...found, ...columns.flatMap((column) => column.findings(count))];
  }

  return {
    take(record) {
      count++;
      if (record.length !== header.length) ragged.push(`${count} (${record.length})`);
      if (count <= mostCompared) compareRows(record);
      for (const [index, column] of columns.entries()) column.note(record[index] ?? "", count);
    },
    end() {
      const shownDelimiter = delimiter === "\t" ? "tab" : `"${delimiter}"`;
      print(`${file}: ${thousands(count)} rows, ${header.length} columns, delimiter ${shownDelimiter}\n\n`);
      const titles = ["column", "type", "filled", "distinct", "min", "max", "mean", "median"];
      print(
        table(
          titles,
          columns.map((column) => column.describe(count)),
        ),
      );
      const frequent = columns.flatMap((column) => column.mostFrequent(count, top) ?? []);
      if (frequent.length > 0) print(`\nfrequent values\n${frequent.map((line) => `  ${line}\n`).join("")}`);
      const found = findings();
      print(`\nfindings\n${found.length > 0 ? found.map((line) => `  - ${line}\n`).join("") : "  none\n"}`);
    },
  };
}

interface Group {
  keys: string[];
  count: number;
  sum: number;
  measured: number;
}

function group(): Command {
  const keys = (options.by ?? []).map(parseKey);
  if (keys.length === 0) refuse("group needs --by COLUMN");
  if (options.sum !== undefined && options.mean !== undefined) refuse("give either --sum or --mean");
  const measure = options.sum ?? options.mean;
  const column = measure === undefined ? undefined : findColumn(measure);
  const groups = new Map<string, Group>();
  let matching = 0;
  let skipped = 0;

  function figureOf({ count, sum, measured }: Group): number {
    if (column === undefined) return count;
    if (options.sum !== undefined) return sum;
    return measured > 0 ? sum / measured : 0;
  }

  function show(): void {
    const sorted = [...groups]
      .map(([key, entry]) => ({ ...entry, key, figure: figureOf(entry) }))
      .toSorted((a, b) => b.figure - a.figure || compare(a.key, b.key));
    const shown = sorted.slice(0, top);
    const total = sorted.reduce((sum, { figure }) => sum + figure, 0);
    const largest = shown.reduce((most, { figure }) => Math.max(most, Math.abs(figure)), 0) || 1;
    const shares = options.mean === undefined && total > 0;
    const titles = [
      ...keys.map(({ title }) => title),
      "rows",
      ...(measure === undefined ? [] : [`${options.sum === undefined ? "mean" : "sum"} of ${measure}`]),
      ...(shares ? ["share"] : []),
      ...(options.bars ? [""] : []),
    ];
    const lines = shown.map(({ keys: values, count, figure }) => [
      ...values.map((value) => (value === "" ? "(empty)" : value)),
      thousands(count),
      ...(measure === undefined ? [] : [round(figure)]),
      ...(shares ? [`${fixed((100 * figure) / total, 1)}%`] : []),
      ...(options.bars ? ["█".repeat(Math.trunc(0.5 + (20 * Math.abs(figure)) / largest))] : []),
    ]);
    print(table(titles, lines));
    const sum = options.sum === undefined ? "" : `; total ${round(total)}`;
    print(`\n${amount(matching, "row")} in ${amount(groups.size, "group")}${sum}\n`);
    const hidden = sorted.length - shown.length;
    if (hidden > 0) print(`${amount(hidden, "smaller group")} not shown (--top)\n`);
    if (skipped > 0) print(`${amount(skipped, "value")} of ${measure} left out as no number\n`);
  }

  return {
    take(record) {
      if (!matches(record)) return;
      matching++;
      const values = keys.map(({ index, length }) => {
        const value = (record[index] ?? "").trim();
        return length === undefined ? value : cut(value, length);
      });
      const key = values.join("\x1f");
      const entry = groups.get(key) ?? { keys: values, count: 0, sum: 0, measured: 0 };
      if (entry.count === 0) groups.set(key, entry);
      entry.count++;
      if (column === undefined) return;
      const number = readNumber(record[column] ?? "", delimiter);
      if (number === undefined) {
        skipped++;
        return;
      }
      entry.sum += number;
      entry.measured++;
    },
    end() {
      if (matching === 0) fail("no row fulfils the conditions");
      show();
    },
  };
}

function rows(): Command {
  const titles = options.columns === undefined ? header : options.columns.split(",");
  const columns = titles.map(findColumn);
  const limit = options.limit ?? 20;
  const lines: string[][] = [];
  let matching = 0;
  let number = 0;
  return {
    take(record) {
      number++;
      if (!matches(record)) return;
      matching++;
      if (matching <= limit) lines.push([String(number), ...columns.map((column) => record[column] ?? "")]);
    },
    end() {
      if (matching === 0) fail("no row fulfils the conditions");
      print(table(["row", ...titles], lines));
      const more = matching > lines.length ? `, the first ${lines.length} shown` : "";
      print(`\n${amount(matching, "matching row")}${more}\n`);
    },
  };
}

// --- columns and conditions ---

function findColumn(title: string): number {
  const exact = header.indexOf(title);
  if (exact >= 0) return exact;
  const similar = header.findIndex((candidate) => candidate.toLowerCase() === title.toLowerCase());
  if (similar >= 0) return similar;
  fail(`there is no column '${title}'; columns: ${header.join(", ")}`);
}

function parseKey(title: string): { index: number; title: string; length?: number } {
  if (header.includes(title)) return { index: header.indexOf(title), title };
  const [, column, length] = /^(.+):(\d+)$/s.exec(title) ?? [];
  if (column === undefined) return { index: findColumn(title), title };
  return { index: findColumn(column), title, length: Number(length) };
}

function parseCondition(text: string): Condition {
  const [, title, operator, wanted] = /^(.+?)\s*(!=|<=|>=|=|<|>|~)\s*(.*)$/s.exec(text) ?? [];
  if (title === undefined || operator === undefined || wanted === undefined)
    refuse(`--where '${text}' is no condition like status=active`);
  const pattern = operator === "~" ? readPattern(wanted) : undefined;
  if (operator === "~" && !pattern) refuse(`--where '${text}' holds no valid regular expression`);
  const column = findColumn(title);
  const holds = pattern ? (value: string) => pattern.test(value) : comparison(operator, wanted);
  return (record) => holds((record[column] ?? "").trim());
}

function comparison(operator: string, wanted: string): (value: string) => boolean {
  const order = (value: string) => compareValues(value, wanted, delimiter);
  switch (operator) {
    case "=":
      return (value) => order(value) === 0;
    case "!=":
      return (value) => order(value) !== 0;
    case "<":
      return (value) => !isEmpty(value) && order(value) < 0;
    case "<=":
      return (value) => !isEmpty(value) && order(value) <= 0;
    case ">":
      return (value) => !isEmpty(value) && order(value) > 0;
    default:
      return (value) => !isEmpty(value) && order(value) >= 0;
  }
}

function matches(record: readonly string[]): boolean {
  return conditions.every((condition) => condition(record));
}
