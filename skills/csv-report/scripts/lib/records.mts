import { fail, refuse } from "./command.mts";

/** So many lines a quoted field may hold, or its quote was never closed. */
const longestRecord = 10_000;

/** The delimiter that was given, or the one that the header has most of. */
export function chooseDelimiter(header: string, given: string | undefined): string {
  if (given !== undefined) {
    const delimiter = given === "\\t" ? "\t" : given;
    if ([...delimiter].length !== 1) refuse("--delimiter takes one character");
    return delimiter;
  }
  const plain = header.replaceAll(/"(?:[^"]|"")*"/g, "");
  let best = ",";
  let most = 0;
  for (const candidate of [",", ";", "\t", "|"]) {
    const count = plain.split(candidate).length - 1;
    if (count > most) [best, most] = [candidate, count];
  }
  return best;
}

/** Puts lines together to records: one goes on while its quotes are not in pairs. */
export function recordReader(delimiter: string): {
  /** The fields of the record that ends with this line. */
  take(line: string): string[] | undefined;
  /** Fails when a record is not complete. */
  end(): void;
} {
  let begun: string[] = [];
  let quotes = 0;
  let number = 1;
  const complain = () => fail(`a quote that begins near line ${number} is never closed`);
  return {
    take(line) {
      number++;
      if (line === "" && begun.length === 0) return undefined;
      quotes += countQuotes(line);
      if (quotes % 2 === 0) {
        const record = begun.length === 0 ? line : [...begun, line].join("\n");
        begun = [];
        return splitRecord(record, delimiter);
      }
      begun.push(line);
      if (begun.length > longestRecord) complain();
      return undefined;
    },
    end() {
      if (begun.length > 0) complain();
    },
  };
}

function countQuotes(line: string): number {
  let count = 0;
  for (let at = line.indexOf('"'); at >= 0; at = line.indexOf('"', at + 1)) count++;
  return count;
}

export function splitRecord(record: string, delimiter: string): string[] {
  if (record === "") return [];
  if (!record.includes('"')) return record.split(delimiter);
  const fields: string[] = [];
  for (let at = 0; ; ) {
    const quoted = readQuoted(record, at, delimiter);
    const next = record.indexOf(delimiter, at);
    const end = quoted?.end ?? (next < 0 ? record.length : next);
    fields.push(quoted?.text ?? record.slice(at, end));
    if (end >= record.length) return fields;
    at = end + delimiter.length;
  }
}

/** The field that begins here, if it is quoted as a whole; blanks around the quotes do not count. */
function readQuoted(
  record: string,
  from: number,
  delimiter: string,
): { text: string; end: number } | undefined {
  const open = skipBlanks(record, from, delimiter);
  if (record[open] !== '"') return undefined;
  let close = record.indexOf('"', open + 1);
  while (close >= 0 && record[close + 1] === '"') close = record.indexOf('"', close + 2);
  if (close < 0) return undefined;
  const end = skipBlanks(record, close + 1, delimiter);
  if (end < record.length && !record.startsWith(delimiter, end)) return undefined;
  return { text: record.slice(open + 1, close).replaceAll('""', '"'), end };
}

function skipBlanks(record: string, from: number, delimiter: string): number {
  let at = from;
  while (at < record.length && /\s/.test(record.charAt(at)) && !record.startsWith(delimiter, at)) at++;
  return at;
}
