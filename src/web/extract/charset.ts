interface Decoded {
  text: string;
  remarks: string[];
}

/** The text of a page in whatever charset it says. */
export function decodeText(body: Uint8Array, declared: string | undefined): Decoded {
  const label = findMark(body) ?? declared ?? findInHead(body);
  return label === undefined ? guess(body) : decode(body, label);
}

/** What browsers take for a page of western Europe that says nothing (WHATWG HTML, 13.2.3.2). */
const usual = "windows-1252";

/** As UTF-8, unless more of it is none than is. */
function guess(body: Uint8Array): Decoded {
  const given = decode(body, "utf-8");
  const foreign = given.text.replaceAll(/[\0-\x7f]+/g, "").length;
  if (2 * countUnreadable(given.text) <= foreign) return given;
  const remarks = [`it names no charset and is not UTF-8; it was read as ${usual}`];
  return { text: new TextDecoder(usual).decode(body), remarks };
}

function decode(body: Uint8Array, label: string): Decoded {
  const remarks: string[] = [];
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(label);
  } catch {
    decoder = new TextDecoder();
    remarks.push(`it says that its charset is ${shorten(label)}, which there is not; it was read as UTF-8`);
  }
  const text = decoder.decode(body);
  const unreadable = countUnreadable(text);
  if (unreadable > 10 && unreadable > text.length / 50) {
    remarks.push(
      `${unreadable} characters are not ${decoder.encoding}, which the page says that it is written in, so they are lost`,
    );
  }
  return { text, remarks };
}

/** A byte order mark takes precedence over all that is said (WHATWG Encoding, 6). */
function findMark(body: Uint8Array): string | undefined {
  if (body[0] === 0xfe && body[1] === 0xff) return "utf-16be";
  if (body[0] === 0xff && body[1] === 0xfe) return "utf-16le";
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? "utf-8" : undefined;
}

/**
 * HTML says it within its first 1,024 bytes (WHATWG HTML, 13.2.3.2), XML in its first line. UTF-16 that can be read like
 * this is none (the same section).
 */
function findInHead(body: Uint8Array): string | undefined {
  const head = Buffer.from(body.subarray(0, 1_024)).toString("latin1");
  const match =
    /<meta[^>]{0,200}?charset\s*=\s*["']?([\w-]{2,40})|^<\?xml[^>]{0,100}encoding=["']([\w-]{2,40})/i.exec(
      head,
    );
  const found = match?.[1] ?? match?.[2];
  return found && /^utf-?16/i.test(found) ? "utf-8" : found;
}

function countUnreadable(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\uFFFD"); at >= 0; at = text.indexOf("\uFFFD", at + 1)) count += 1;
  return count;
}

function shorten(label: string): string {
  return `“${label.slice(0, 40).replace(/[^\x21-\x7e]/g, "?")}”`;
}
