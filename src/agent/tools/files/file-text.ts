import { countBreaks } from "./numbered-lines.ts";

/** The text of a file, with LF for CRLF where all its lines end so; undefined when it is not UTF-8. A byte order mark stays. */
export function decodeText(content: Uint8Array): { text: string; crlf: boolean } | undefined {
  const raw = decodeUtf8(content);
  if (raw === undefined) return undefined;
  const crlf = raw.includes("\r\n") && !/(?<!\r)\n/.test(raw);
  return { text: crlf ? toLf(raw) : raw, crlf };
}

export function encodeText(text: string, crlf: boolean): Uint8Array {
  return Buffer.from(crlf ? text.replaceAll("\n", "\r\n") : text);
}

export function toLf(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

/** Undefined for what is not UTF-8. */
export function decodeUtf8(content: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return undefined;
  }
}

/** A part of a text, and what comes in its place. */
export interface Replaced {
  start: number;
  end: number;
  replacement: string;
}

/**
 * The same in a file with CRLF, for what was found in its text with LF. An LF of a replacement becomes the line end of
 * the line that it stands for, or of one beside it; so lines that a replacement only repeats keep theirs.
 *
 * @param spans in order, none in another
 */
export function placeInFile(raw: string, spans: readonly Replaced[]): Replaced[] {
  const pairs: number[] = [];
  for (let at = raw.indexOf("\r\n"); at >= 0; at = raw.indexOf("\r\n", at + 2)) pairs.push(at);
  let passed = 0;
  const toPlace = (at: number) => {
    while ((pairs[passed] ?? raw.length) < at + passed) passed += 1;
    return at + passed;
  };
  let next = -1;
  return spans.map(({ start: from, end: to, replacement }) => {
    const [start, end] = [toPlace(from), toPlace(to)];
    if (!replacement.includes("\n")) return { start, end, replacement };
    // A line may be as long as the file: its end is looked for once.
    if (next < end) next = indexOrEnd(raw, end);
    const beside = raw[(next < raw.length ? next : raw.lastIndexOf("\n")) - 1] === "\r" ? "\r\n" : "\n";
    return { start, end, replacement: takeLineEnds(replacement, raw.slice(start, end), beside) };
  });
}

function indexOrEnd(text: string, from: number): number {
  const at = text.indexOf("\n", from);
  return at < 0 ? text.length : at;
}

/** The lines that both end with keep their ends, the others have them in order, and further ones that of the last before. */
function takeLineEnds(text: string, replaced: string, beside: string): string {
  const ends = replaced.match(/\r?\n/g) ?? [];
  const shown = toLf(text);
  const count = countBreaks(shown);
  const tail = countCommonEnd(shown, toLf(replaced));
  let index = -1;
  return text.replaceAll(/\r?\n/g, (written) => {
    index += 1;
    if (written !== "\n") return written;
    const place =
      index < count - tail ? Math.min(index, ends.length - tail - 1) : index - count + ends.length;
    return ends[Math.max(0, place)] ?? beside;
  });
}

/** Line breaks of whole lines that two texts end with. */
function countCommonEnd(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  const signAt = (text: string, fromEnd: number) => text.charCodeAt(text.length - 1 - fromEnd);
  let same = 0;
  while (same < most && signAt(one, same) === signAt(other, same)) same += 1;
  const breaks = countBreaks(one, one.length - same);
  return same === most ? breaks : Math.max(0, breaks - 1);
}
