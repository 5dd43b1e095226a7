import { existsSync } from "node:fs";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import { stripVTControlCharacters } from "node:util";
import { createGunzip } from "node:zlib";
import { fail } from "./command.mts";
import { isFolder, readBytes, readLines } from "./lines.mts";

/** Longer lines are cut, in characters. */
const longestLine = 8192;
/** Bytes that are kept of a line without an end. */
const longestRaw = 4 * longestLine;

/** How a log is called where its lines are named. */
export function nameOf(path: string): string {
  return path === "-" ? "stdin" : basename(path);
}

/** The lines of a log, also of a compressed one, without colours, control characters and blanks at the end. */
export async function* readLog(path: string): AsyncGenerator<string[]> {
  if (path !== "-" && isFolder(path)) fail(`cannot read ${path}: Is a directory`);
  const bytes = path.endsWith(".gz") && existsSync(path) ? unpack(path) : readBytes(path);
  for await (const lines of readLines(shorten(bytes))) yield lines.map(clean);
}

async function* unpack(path: string): AsyncGenerator<Buffer> {
  const unpacked = createGunzip();
  const packed = pipeline(readBytes(path), unpacked);
  try {
    yield* unpacked;
    await packed;
    if (unpacked.bytesWritten === 0) throw new Error("empty");
  } catch {
    fail(`${path} cannot be read to its end; is it a valid .gz file?`);
  }
}

/** Leaves out most of lines that have no end. */
async function* shorten(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  /** Of the line that goes on. */
  let length = 0;
  for await (const chunk of bytes) {
    const first = chunk.indexOf("\n");
    const last = chunk.lastIndexOf("\n");
    const rest = last < 0 ? chunk : chunk.subarray(0, first);
    yield takeStart(rest, Math.max(0, longestRaw - length));
    if (last < 0) {
      length += chunk.length;
      continue;
    }
    yield chunk.subarray(first, last + 1);
    length = chunk.length - last - 1;
    yield takeStart(chunk.subarray(last + 1), longestRaw);
  }
}

/** At most so many bytes, and no half character, for which the line would not be UTF-8. */
function takeStart(bytes: Buffer, length: number): Buffer {
  let end = length;
  while (end > 0 && ((bytes[end] ?? 0) & 0b1100_0000) === 0b1000_0000) end--;
  return bytes.subarray(0, end);
}

/** The control characters of ASCII but tab and line feed. */
const controls = /[[\p{ASCII}&&\p{Cc}]--[\t\n]]/gv;

function clean(line: string): string {
  const plain = line.slice(0, longestLine);
  return (plain.includes("\x1B") ? stripVTControlCharacters(plain) : plain).replace(controls, "").trimEnd();
}
