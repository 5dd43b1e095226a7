/** The text of a file, with LF for CRLF where all its lines end so; undefined when it is not UTF-8. A byte order mark stays. */
export function decodeText(content: Uint8Array): { text: string; crlf: boolean } | undefined {
  const raw = decode(content);
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

function decode(content: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return undefined;
  }
}
