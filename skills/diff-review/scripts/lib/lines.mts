// How a script reads text. Every skill that does has its own copy of this file, because each stands alone.
import { isAscii, isUtf8 } from "node:buffer";
import { createReadStream, statSync } from "node:fs";
import { getSystemErrorMap } from "node:util";
import { fail } from "./command.mts";

const newline = 10;
const carriageReturn = 13;

/** The bytes of a file; `-` is standard input. */
export async function* readBytes(path: string): AsyncGenerator<Buffer> {
  try {
    const stream: AsyncIterable<Buffer> =
      path === "-" ? process.stdin : createReadStream(path, { highWaterMark: 1_048_576 });
    yield* stream;
  } catch (error) {
    fail(`cannot read ${path}: ${explain(error)}`);
  }
}

/**
 * The lines of a file, without their ends, many at a time. A line that is not UTF-8 is read as Latin-1, so that its
 * other characters are right. A byte order mark is left out.
 */
export async function* readLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  /** The beginning of a line that goes on. */
  let begun: Buffer[] = [];
  let isFirst = true;
  const decode = (text: Buffer): string[] => {
    const lines = decodeLines(text);
    if (isFirst && lines[0]?.startsWith("\uFEFF")) lines[0] = lines[0].slice(1);
    isFirst = false;
    return lines;
  };
  for await (const chunk of bytes) {
    const end = chunk.lastIndexOf(newline) + 1;
    if (end > 0) {
      const complete = chunk.subarray(0, end);
      yield decode(begun.length === 0 ? complete : Buffer.concat([...begun, complete]));
      begun = [];
    }
    if (end < chunk.length) begun.push(chunk.subarray(end));
  }
  if (begun.length > 0) yield decode(Buffer.concat(begun));
}

/** Each line is a string of its own, not a view of a large one, which would stay in memory as long as any line. */
function decodeLines(text: Buffer): string[] {
  const encoding = isAscii(text) ? "latin1" : isUtf8(text) ? "utf8" : undefined;
  const lines: string[] = [];
  for (let from = 0; from < text.length; ) {
    const found = text.indexOf(newline, from);
    const to = found < 0 ? text.length : found;
    const end = found > from && text[found - 1] === carriageReturn ? found - 1 : to;
    lines.push(text.toString(encoding ?? (isUtf8(text.subarray(from, end)) ? "utf8" : "latin1"), from, end));
    from = to + 1;
  }
  return lines;
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** What the system says, as in "No such file or directory". */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "errno" in error && typeof error.errno === "number" ? error.errno : 0;
  const [, text = error.message] = getSystemErrorMap().get(code) ?? [];
  return text.charAt(0).toUpperCase() + text.slice(1);
}
