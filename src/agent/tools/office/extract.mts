/**
 * Prints the text of a Word, Excel or PowerPoint file. It runs inside the thread's sandbox, by the Node that is mounted
 * there, because such a file is hostile input: `node extract.mts FILE`. It needs nothing but Node.
 *
 * Exit code 3: a zip archive of another kind. 4: the file is broken or too large, and the error output says how.
 */
import { fstatSync, openSync, readSync } from "node:fs";
import { inflateRawSync } from "node:zlib";

/** Against archives that unpack to far more than they are, in bytes. */
const mostPartBytes = 32 * 1024 * 1024;
const mostBytes = 96 * 1024 * 1024;
const mostEntries = 10_000;
/** What is printed, in characters. */
const mostChars = 4 * 1024 * 1024;

interface Entry {
  method: number;
  compressed: number;
  offset: number;
}

class Unreadable extends Error {}

/** The parts of a zip archive (APPNOTE 4.3), unpacked when they are asked for. */
class Archive {
  readonly #file: number;
  readonly #entries = new Map<string, Entry>();
  #left = mostBytes;

  constructor(path: string) {
    this.#file = openSync(path, "r");
    const { size } = fstatSync(this.#file);
    const tail = this.#read(Math.max(0, size - 65_557), Math.min(size, 65_557));
    const end = tail.lastIndexOf(Buffer.from("PK\u0005\u0006"));
    if (end < 0) throw new Unreadable("it is no complete zip archive");
    const count = tail.readUInt16LE(end + 10);
    if (count > mostEntries) throw new Unreadable(`it has ${count} parts`);
    const directory = this.#read(tail.readUInt32LE(end + 16), tail.readUInt32LE(end + 12));
    for (let at = 0, n = 0; n < count && at + 46 <= directory.length; n += 1) {
      if (directory.readUInt32LE(at) !== 0x02014b50) throw new Unreadable("its list of parts is broken");
      const nameLength = directory.readUInt16LE(at + 28);
      this.#entries.set(directory.toString("utf8", at + 46, at + 46 + nameLength), {
        method: directory.readUInt16LE(at + 10),
        compressed: directory.readUInt32LE(at + 20),
        offset: directory.readUInt32LE(at + 42),
      });
      at += 46 + nameLength + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32);
    }
  }

  names(): string[] {
    return [...this.#entries.keys()];
  }

  /** Empty for a part that is not there. */
  text(name: string): string {
    const entry = this.#entries.get(name);
    if (!entry) return "";
    const head = this.#read(entry.offset, 30);
    if (head.readUInt32LE(0) !== 0x04034b50) throw new Unreadable(`its part ${name} is broken`);
    const start = entry.offset + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
    const most = Math.min(mostPartBytes, this.#left);
    if (entry.compressed > most) throw new Unreadable(`its part ${name} is too large`);
    const packed = this.#read(start, entry.compressed);
    const data = entry.method === 0 ? packed : this.#inflate(name, packed, most);
    this.#left -= data.length;
    return data.toString("utf8");
  }

  #inflate(name: string, packed: Buffer, most: number): Buffer {
    try {
      return inflateRawSync(packed, { maxOutputLength: most });
    } catch (error) {
      const isTooLarge = error instanceof RangeError;
      throw new Unreadable(`its part ${name} ${isTooLarge ? "unpacks to too much" : "is broken"}`);
    }
  }

  #read(offset: number, length: number): Buffer {
    const { size } = fstatSync(this.#file);
    if (offset + length > size) throw new Unreadable("it was cut");
    const data = Buffer.alloc(length);
    readSync(this.#file, data, 0, length, offset);
    return data;
  }
}

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return entities[name] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : "";
  });
}

/** One tag or one piece of text. */
interface Token {
  /** Without its namespace's prefix; empty for text. */
  name: string;
  kind: "open" | "close" | "empty" | "text";
  /** The text, or the attributes. */
  rest: string;
}

/** Names are bounded: without that, one that never ends takes time by the square of its length. */
const tag = /^(\/?)(?:[\w.-]{1,64}:)?([\w.-]{1,64})(.*)$/s;

function* tokenize(xml: string): Generator<Token> {
  for (let at = 0; at < xml.length; ) {
    const start = xml.indexOf("<", at);
    const text = xml.slice(at, start < 0 ? undefined : start);
    if (text) yield { name: "", kind: "text", rest: decodeEntities(text) };
    const end = start < 0 ? -1 : xml.indexOf(">", start);
    if (end < 0) return;
    at = end + 1;
    const [, close, name, rest = ""] = tag.exec(xml.slice(start + 1, end)) ?? [];
    if (name === undefined) continue;
    if (close) yield { name, kind: "close", rest: "" };
    else if (rest.endsWith("/")) yield { name, kind: "empty", rest: rest.slice(0, -1) };
    else yield { name, kind: "open", rest };
  }
}

function attribute(rest: string, name: string): string | undefined {
  const value = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(rest);
  return value ? decodeEntities(value[1] ?? value[2] ?? "") : undefined;
}

/**
 * Paragraphs a line each, rows of tables with their cells between bars; for Word and for slides alike. A table within a
 * cell is text of that cell, its rows in brackets: by a count alone, so that no depth costs more than its text.
 */
function* readParagraphs(xml: string): Generator<string> {
  let line = "";
  let prefix = "";
  let row: string[] | undefined;
  let cell: string[] | undefined;
  let depth = 0;
  let isText = false;
  let leftOut = 0;
  for (const { name, kind, rest } of tokenize(xml)) {
    if (passedOver.has(name)) leftOut = Math.max(0, leftOut + depthChange[kind]);
    else if (leftOut > 0) continue;
    else if (kind === "text") line += isText ? rest : "";
    else if (name === "t" || name === "delText") isText = kind === "open" && name === "t";
    // With attributes it is where a tab stop of the paragraph is, and no sign of its text.
    else if (name === "ptab" || (name === "tab" && !rest.trim())) line += kind === "close" ? "" : "\t";
    else if (name === "noBreakHyphen") line += "-";
    else if (name === "br" || name === "cr") line += cell ? " " : "\n";
    else if (name === "pStyle") prefix = headingOf(attribute(rest, "\\w+:val") ?? "");
    else if (name === "numPr" && kind === "open") prefix ||= "- ";
    else if (name === "p" && kind === "close") {
      if (line.trim() && cell) cell.push(line.trim());
      else if (line.trim()) yield prefix + line.trimEnd();
      line = prefix = "";
    } else if (name === "tbl") depth += depthChange[kind];
    else if (depth > 1 && cell) cell.push(...innerSigns(name, kind, cell));
    else if (name === "tr" && kind !== "empty") {
      if (kind === "close" && row) yield `| ${row.join(" | ")} |`;
      row = kind === "open" ? [] : undefined;
    } else if (name === "tc" && kind !== "empty") {
      if (kind === "close") row?.push((cell ?? []).join(" "));
      cell = kind === "open" ? [] : undefined;
    }
  }
  if (line.trim()) yield line;
}

/**
 * What is shown to older programs instead; and with tracked changes what was deleted, what was moved, where it stood
 * before, and how a paragraph was formatted.
 */
const passedOver = new Set(["Fallback", "del", "moveFrom", "pPrChange"]);
const depthChange = { open: 1, close: -1, empty: 0, text: 0 };

/** What stands in the cell of the outer table for a tag of an inner one. */
function innerSigns(name: string, kind: Token["kind"], cell: readonly string[]): string[] {
  if (name === "tr" && kind === "open") return ["["];
  if (name === "tr" && kind === "close") return ["]"];
  return name === "tc" && kind === "open" && cell.at(-1) !== "[" ? [";"] : [];
}

function headingOf(style: string): string {
  const level = /^(?:heading|berschrift|titre|ttulo)\s?([1-6])$/i.exec(style)?.[1];
  if (level !== undefined) return `${"#".repeat(Number(level))} `;
  return /^title$/i.test(style) ? "# " : "";
}

function* readWord(archive: Archive): Generator<string> {
  yield* readParagraphs(archive.text("word/document.xml"));
  for (const part of ["footnotes", "endnotes", "comments"]) {
    const lines = [...readParagraphs(archive.text(`word/${part}.xml`))];
    if (lines.length > 0) yield* [`--- ${part} ---`, ...lines];
  }
}

/** Slides in the order of their numbers, with what is in their notes. */
function* readSlides(archive: Archive): Generator<string> {
  const numberOf = (name: string) => Number(/(\d+)\.xml$/.exec(name)?.[1]);
  const slides = archive.names().filter((name) => /^ppt\/slides\/slide\d+\.xml$/.test(name));
  slides.sort((a, b) => numberOf(a) - numberOf(b));
  for (const [index, name] of slides.entries()) {
    yield `--- slide ${index + 1} of ${slides.length} ---`;
    yield* readParagraphs(archive.text(name));
    const notes = [...readParagraphs(archive.text(notesOf(archive, name)))];
    if (notes.length > 0) yield* ["[notes]", ...notes];
  }
}

function notesOf(archive: Archive, slide: string): string {
  const relations = archive.text(slide.replace("slides/", "slides/_rels/").concat(".rels"));
  const target = /Target="\.\.\/(notesSlides\/[\w.-]+)"/.exec(relations)?.[1];
  return target === undefined ? "" : `ppt/${target}`;
}

/** Each sheet as rows of comma-separated values, beginning with the number of the row. */
function* readSheets(archive: Archive): Generator<string> {
  const strings = readSharedStrings(archive.text("xl/sharedStrings.xml"));
  const formats = readDateFormats(archive.text("xl/styles.xml"));
  let is1904 = false;
  const targets = new Map<string, string>();
  for (const { name, rest } of tokenize(archive.text("xl/_rels/workbook.xml.rels"))) {
    const target = attribute(rest, "Target")?.replace(/^\/?(?:xl\/)?/, "xl/");
    if (name === "Relationship") targets.set(attribute(rest, "Id") ?? "", target ?? "");
  }
  for (const { name, rest } of tokenize(archive.text("xl/workbook.xml"))) {
    // It comes before the sheets (18.2.27).
    if (name === "workbookPr") is1904 = /^(?:1|true)$/.test(attribute(rest, "date1904") ?? "");
    if (name !== "sheet") continue;
    yield `--- sheet ${attribute(rest, "name") ?? ""} ---`;
    const xml = archive.text(targets.get(attribute(rest, "\\w+:id") ?? "") ?? "");
    yield* readRows(xml, { strings, formats, is1904 });
  }
}

/** What a number format shows of a day's serial number: at least one of a date and a time. */
interface DateFormat {
  hasDate: boolean;
  hasTime: boolean;
  /** Hours are not those of a day: they go on beyond 24. */
  isElapsed: boolean;
}

/** The formats for dates and times that each file has without naming them (ECMA-376 Part 1, 18.8.30). */
const knownFormats: Record<number, string> = {
  ...{ 14: "mm-dd-yy", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM" },
  ...{ 20: "h:mm", 21: "h:mm:ss", 22: "m/d/yy h:mm", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mmss.0" },
};

/** By the number of a cell's style, those that show its number as a date or a time. */
function readDateFormats(xml: string): Map<number, DateFormat> {
  const codes = new Map(Object.entries(knownFormats));
  const formats = new Map<number, DateFormat>();
  let style: number | undefined;
  for (const { name, kind, rest } of tokenize(xml)) {
    if (name === "numFmt") codes.set(attribute(rest, "numFmtId") ?? "", attribute(rest, "formatCode") ?? "");
    else if (name === "cellXfs") style = kind === "open" ? 0 : undefined;
    else if (name === "xf" && kind !== "close" && style !== undefined) {
      const format = dateFormatOf(codes.get(attribute(rest, "numFmtId") ?? "") ?? "");
      if (format) formats.set(style, format);
      style += 1;
    }
  }
  return formats;
}

/** By the letters of the code (18.8.31) that are neither text, colours and the like, nor a sign that only takes room. */
function dateFormatOf(code: string): DateFormat | undefined {
  // Excel takes no longer ones, and brackets that nothing closes take time by the square of their number.
  const short = code.slice(0, 255);
  const plain = short.replaceAll(/"[^"]*"|[\\_*].|\[(?!(?:h+|m+|s+)\])[^\]]*\]|AM\/PM|A\/P/gis, "");
  const letters = plain.split(";")[0]?.toLowerCase() ?? "";
  if (!/[ymdhs]/.test(letters)) return undefined;
  // Beside hours or seconds an m or two are minutes.
  const hasTime = /[hs]|\[m/.test(letters);
  return { hasTime, hasDate: /[yd]|mmm/.test(letters) || !hasTime, isElapsed: letters.includes("[") };
}

const daySeconds = 86_400;
/** 9999-12-31, counted from 1900 and from 1904 (18.17.4.1). */
const lastDays = { since1900: 2_958_465, since1904: 2_957_003 };

/** In the form of ISO 8601; as it is where that is no number of a day. */
function formatSerial(value: string, { hasDate, hasTime, isElapsed }: DateFormat, is1904: boolean): string {
  const seconds = value === "" ? Number.NaN : Math.round(Number(value) * daySeconds);
  const lastDay = is1904 ? lastDays.since1904 : lastDays.since1900;
  if (!(seconds >= 0 && seconds < (lastDay + 1) * daySeconds)) return value;
  const time = formatTime(isElapsed ? seconds : seconds % daySeconds);
  const day = Math.floor(seconds / daySeconds);
  const isNoDay = day === 0 && !is1904;
  if (!hasDate || (isNoDay && hasTime)) return time;
  if (isNoDay) return value;
  const date = formatDay(day, is1904);
  return hasTime ? `${date}T${formatTime(seconds % daySeconds)}` : date;
}

function formatTime(seconds: number): string {
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

/** From 1904 days are counted from 0; from 1900 they begin with 1, and Excel has a 29th of February then. */
function formatDay(day: number, is1904: boolean): string {
  if (!is1904 && day === 60) return "1900-02-29";
  const start = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, day < 60 ? 31 : 30);
  return new Date(start + day * daySeconds * 1_000).toISOString().slice(0, 10);
}

/** Without what says how the text beside it is pronounced (ECMA-376 Part 1, 18.4.6): it is no part of the cell's value. */
function* withoutPhonetics(tokens: Iterable<Token>): Generator<Token> {
  let isPhonetic = false;
  for (const token of tokens) {
    if (token.name === "rPh") isPhonetic = token.kind === "open";
    else if (!isPhonetic) yield token;
  }
}

function readSharedStrings(xml: string): string[] {
  const strings: string[] = [];
  let text = "";
  let isText = false;
  for (const { name, kind, rest } of withoutPhonetics(tokenize(xml))) {
    if (kind === "text") text += isText ? rest : "";
    else if (name === "t") isText = kind === "open";
    else if (name === "si" && kind !== "open") {
      strings.push(text);
      text = "";
    }
  }
  return strings;
}

/** What the cells of all sheets refer to. */
interface Book {
  strings: readonly string[];
  formats: ReadonlyMap<number, DateFormat>;
  is1904: boolean;
}

/** What a cell shows. */
function showCell(value: string, type: string, style: number, { strings, formats, is1904 }: Book): string {
  if (type === "s") return strings[Number(value)] ?? "";
  // A boolean (18.18.11).
  if (type === "b" && value !== "") return /^(?:1|true)$/.test(value) ? "TRUE" : "FALSE";
  const format = type === "" || type === "n" ? formats.get(style) : undefined;
  return format ? formatSerial(value, format, is1904) : value;
}

function* readRows(xml: string, book: Book): Generator<string> {
  let cells: string[] = [];
  let row = 0;
  let column = 0;
  let type = "";
  let style = 0;
  let value = "";
  let isValue = false;
  for (const { name, kind, rest } of withoutPhonetics(tokenize(xml))) {
    if (kind === "text") value += isValue ? rest : "";
    else if (name === "row" && kind === "open") {
      row = Number(attribute(rest, "r") ?? row + 1);
      cells = [];
    } else if (name === "row" && kind === "close") {
      if (cells.length > 0) yield `${row}: ${cells.map(quoteCell).join(",")}`;
    } else if (name === "c" && kind === "open") {
      column = columnOf(attribute(rest, "r")) ?? cells.length;
      type = attribute(rest, "t") ?? "";
      style = Number(attribute(rest, "s") ?? 0);
      value = "";
    } else if (name === "v" || name === "t") isValue = kind === "open";
    else if (name === "c" && kind === "close" && column < 16_384) {
      while (cells.length < column) cells.push("");
      cells[column] = showCell(value, type, style, book);
    }
  }
}

/** 0 for `A7`, 27 for `AB7`. */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? "")?.[0];
  if (letters === undefined) return undefined;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function quoteCell(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Prints the text and ends with the exit code. */
function extract(path: string): number {
  const archive = new Archive(path);
  const readers = {
    "word/document.xml": readWord,
    "xl/workbook.xml": readSheets,
    "ppt/presentation.xml": readSlides,
  };
  const names = new Set(archive.names());
  const [, read] = Object.entries(readers).find(([name]) => names.has(name)) ?? [];
  if (!read) return 3;
  let left = mostChars;
  for (const line of read(archive)) {
    left -= line.length + 1;
    process.stdout.write(left < 0 ? "[cut here: it has more text]\n" : `${line}\n`);
    if (left < 0) break;
  }
  return 0;
}

try {
  process.exitCode = extract(process.argv[1] ?? "");
} catch (error) {
  if (!(error instanceof Unreadable || error instanceof RangeError)) throw error;
  process.stderr.write(error.message);
  process.exitCode = 4;
}
