/** The text of a file, in whatever encoding it is. */

export interface DecodedText {
  text: string;
  /** In words, where it is not UTF-8. */
  encoding?: string;
}

/** Undefined where the bytes are no text. */
export function decodeText(bytes: Uint8Array): DecodedText | undefined {
  const wide = detectUtf16(bytes);
  if (wide) return { text: new TextDecoder(wide).decode(bytes), encoding: "UTF-16" };
  if (bytes.includes(0)) return undefined;
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    // What cannot be anything else is the encoding of old files, if it is text at all.
    if (bytes.some(isControl)) return undefined;
    return { text: new TextDecoder("windows-1252").decode(bytes), encoding: "Latin-1" };
  }
}

/** By its mark, or where every other byte is zero, as in text of mostly Latin letters. */
function detectUtf16(bytes: Uint8Array): "utf-16le" | "utf-16be" | undefined {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  const sample = bytes.subarray(0, 1_000);
  if (sample.length < 8 || bytes.length % 2 === 1) return undefined;
  if (isMostlyZero(sample, 1) && !hasZero(sample, 0)) return "utf-16le";
  return isMostlyZero(sample, 0) && !hasZero(sample, 1) ? "utf-16be" : undefined;
}

function everyOther(bytes: Uint8Array, from: 0 | 1): Uint8Array {
  return bytes.filter((_, at) => at % 2 === from);
}

function isMostlyZero(bytes: Uint8Array, from: 0 | 1): boolean {
  const half = everyOther(bytes, from);
  return half.filter((byte) => byte === 0).length > half.length * 0.8;
}

function hasZero(bytes: Uint8Array, from: 0 | 1): boolean {
  return everyOther(bytes, from).includes(0);
}

/** But for tab, line feed, form feed, carriage return and escape. */
function isControl(byte: number): boolean {
  return (byte < 0x20 && ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte)) || byte === 0x7f;
}
