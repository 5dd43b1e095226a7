import { fail, refuse } from "./command.mts";

/** So many lines a quoted field may hold, or its quote was never closed. */
const longestRecord = 10_000;

/** What may delimit fields. */
export const possibleDelimiters = ",;\t|";

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
  for (const candidate of possibleDelimiters) {
    const count = plain.split(candidate).length - 1;
    if (count > most) [best, most] = [candidate, count];
  }
  return best;
}

/** Puts lines together to records: one goes on while a quoted field of it is not closed. */
export function recordReader(): {
  /** The record that ends with this line; any of the characters delimits fields. */
  take(line: string, delimiters: string): string | undefined;
  /** Fails when a record is not complete. */
  end(): void;
} {
  let begun: string[] = [];
  let number = 0;
  const complain = () => fail(`a quote that begins near line ${number} is never closed`);
  return {
    take(line, delimiters) {
      number++;
      if (line === "" && begun.length === 0) return undefined;
      const isOpen = endsInQuotes(line, begun.length > 0, delimiters);
      if (!isOpen && begun.length === 0) return line;
      begun.push(line);
      if (isOpen && begun.length > longestRecord) complain();
      if (isOpen) return undefined;
      const record = begun.join("\n");
      begun = [];
      return record;
    },
    end() {
      if (begun.length > 0) complain();
    },
  };
}

/** Whether a quoted field goes on behind this line. A quote within a field that does not begin with one is a character. */
function endsInQuotes(line: string, beginsInQuotes: boolean, delimiters: string): boolean {
  if (!line.includes('"')) return beginsInQuotes;
  let isInQuotes = beginsInQuotes;
  for (let at = 0; ; at++) {
    if (!isInQuotes) {
      at = skipBlanks(line, at, delimiters);
      isInQuotes = line[at] === '"';
      if (isInQuotes) at++;
    }
    if (isInQuotes) {
      at = findClosing(line, at);
      if (at < 0) return true;
      isInQuotes = false;
    }
    while (at < line.length && !delimiters.includes(line.charAt(at))) at++;
    if (at >= line.length) return false;
  }
}

/** The next quote that is not a pair. */
function findClosing(text: string, from: number): number {
  let close = text.indexOf('"', from);
  while (close >= 0 && text[close + 1] === '"') close = text.indexOf('"', close + 2);
  return close;
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
  const close = findClosing(record, open + 1);
  if (close < 0) return undefined;
  const end = skipBlanks(record, close + 1, delimiter);
  if (end < record.length && !record.startsWith(delimiter, end)) return undefined;
  return { text: record.slice(open + 1, close).replaceAll('""', '"'), end };
}

function skipBlanks(record: string, from: number, delimiters: string): number {
  let at = from;
  while (at < record.length && /\s/.test(record.charAt(at)) && !delimiters.includes(record.charAt(at))) at++;
  return at;
}
