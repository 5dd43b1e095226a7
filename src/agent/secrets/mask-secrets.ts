import type { Masker } from "./masker.ts";
import { createMaskedStream } from "./masked-stream.ts";
import { findNamedSecrets, findOpenName, type Span } from "./named-secrets.ts";
import { listNumberForms, listSecretForms, secretShapes } from "./secret-forms.ts";

const replacement = "[masked]";

/** How far behind its opening line the end of a private key is waited for. */
const maxKey = 8_192;

/**
 * Masks the given values, as they are and encoded, also across line breaks, and whatever has the shape of a
 * well-known token. Values of fewer than 8 characters are ignored: they would blank ordinary words.
 */
export function createMasker(secrets: readonly string[]): GrowingMasker {
  const added = new Set<string>();
  let current = createFixedMasker(secrets);
  return {
    mask: (text) => current.mask(text),
    stream: (emit) => current.stream(emit),
    add(secret) {
      if (added.has(secret) || secrets.includes(secret)) return;
      added.add(secret);
      // The oldest have ended long ago.
      for (const old of [...added].slice(0, -mostAdded)) added.delete(old);
      current = createFixedMasker([...secrets, ...added]);
    },
  };
}

/** Tokens come and go; so many of them are remembered. */
const mostAdded = 200;

/** A masker that learns of secrets while it is in use. */
export interface GrowingMasker extends Masker {
  /** Masks this value as well, in whatever is masked from here on. */
  add(secret: string): void;
}

function createFixedMasker(secrets: readonly string[]): Masker {
  const known = [...new Set(secrets)].filter((secret) => secret.length >= 8);
  const needles = [...new Set(known.flatMap(listSecretForms))];
  const longest = needles.reduce((length, needle) => Math.max(length, needle.length), 0);
  const numbers = known.flatMap(listNumberForms);
  const hex = known.map((secret) => Buffer.from(secret).toString("hex"));
  const longestHex = hex.reduce((length, needle) => Math.max(length, needle.length), 0);
  const byFirst = Map.groupBy(needles, (needle) => needle[0]);

  return { mask, stream: (emit) => createMaskedStream({ mask, measureSettled }, emit) };

  function mask(text: string): string {
    let result = "";
    let at = 0;
    for (const { start, end } of find(text)) {
      result += text.slice(at, start) + replacement;
      at = end;
    }
    return at === 0 ? text : result + text.slice(at);
  }

  function find(text: string, lines = partLines(text)): Span[] {
    const spans = [
      ...findNeedles(text, needles),
      ...findHex(text, hex),
      ...findNumbers(text, numbers),
      ...findNamedSecrets(lines),
      ...findShapes(lines),
    ];
    return spans.length === 0 ? spans : mergeSpans(spans);
  }

  /** How much of the text no later chunk can turn into a part of a secret. */
  function measureSettled(text: string): number {
    const lines = partLines(text);
    const spans = find(text, lines);
    const settled = Math.min(
      startOfWord(lines),
      findKeyStart(text),
      startOfNeedle(text),
      findOpenName(lines),
      findNumberTail(text, longestHex),
    );
    const cut = spans.find(({ start, end }) => end === text.length || (start < settled && settled < end));
    return Math.min(settled, cut?.start ?? settled);
  }

  /** Where the text's end may be the beginning of a needle; the text's length when it is not. */
  function startOfNeedle(text: string): number {
    // What is unseen has up to two units for each character; a control sequence at the very end may be incomplete.
    const from = Math.max(0, text.length - 3 * longest);
    // oxlint-disable-next-line no-control-regex -- control sequences are what it looks for
    const tail = text.slice(from).replace(/\x1b(?:\[[0-9;]{0,16})?$/, "");
    const joined = tail.replace(unseen, "");
    for (let start = Math.max(0, joined.length - longest); start < joined.length; start++) {
      const candidates = byFirst.get(joined[start]);
      if (!candidates) continue;
      const rest = joined.slice(start);
      if (candidates.some((needle) => needle.startsWith(rest))) {
        return from + (mapKept(tail, joined.length, unseen)[start] ?? 0);
      }
    }
    return text.length;
  }
}

/**
 * What stands between the characters of a secret without being seen, or as an encoder wraps its lines: line breaks,
 * colours and other control sequences of a terminal, characters without width.
 */
// oxlint-disable-next-line no-control-regex -- control sequences are what it looks for
const unseen = /[\r\n\p{Default_Ignorable_Code_Point}]+|\x1b\[[0-9;]{0,16}[A-Za-z]/gu;
/** Between the bytes of a hex dump, over lines too. */
const hexBreak = /[\s:,-]+(?:0x)?/g;
/** Between the numbers of a list, over lines too, and with colours. */
// oxlint-disable-next-line no-control-regex -- control sequences are what it looks for
const numberBreak = /(?:[\s,\p{Default_Ignorable_Code_Point}]|\x1b\[[0-9;]{0,16}[A-Za-z])+/gu;
/** As many numbers in a row as the shortest secret has bytes. */
const numberList = new RegExp(`\\d(?:${numberBreak.source}\\d{1,3}){7}`, "u");

/**
 * The text, as long as it was, with no letter where JSON and programs write a line break or a tab as `\n`, `\r` or `\t`:
 * it would be a part of the word behind it, and of no known name or token.
 */
function partLines(text: string): string {
  return text.includes("\\") ? text.replace(/\\[nrt]/g, "\\\0") : text;
}

function findShapes(text: string): Span[] {
  // Most texts have none, and to look for all at once makes another expression for each text.
  if (text.search(secretShapes) < 0) return [];
  return [...text.matchAll(secretShapes)].map(({ index, 0: { length } }) => ({
    start: index,
    end: index + length,
  }));
}

function findNeedles(text: string, needles: readonly string[]): Span[] {
  return findWithout(text, unseen, needles, (joined) => joined);
}

/** A secret in hex, its bytes apart or its letters mixed. */
function findHex(text: string, needles: readonly string[]): Span[] {
  if (
    needles.length === 0 ||
    !/[0-9a-fA-F]{2}[\s:,-]+(?:0x)?[0-9a-fA-F]{2}|[a-f][0-9]*[A-F]|[A-F][0-9]*[a-f]/.test(text)
  )
    return [];
  return findWithout(text, hexBreak, needles, (joined) => joined.toLowerCase());
}

/** A secret as the numbers of its bytes, in decimal or octal, as `od` prints them and programs their lists. */
function findNumbers(text: string, needles: readonly string[]): Span[] {
  if (needles.length === 0 || !numberList.test(text)) return [];
  return findWithout(text, numberBreak, needles, (joined) => joined);
}

function findWithout(
  text: string,
  between: RegExp,
  needles: readonly string[],
  fold: (joined: string) => string,
): Span[] {
  const joined = fold(text.replace(between, ""));
  const spans: Span[] = [];
  for (const needle of needles) {
    for (let at = joined.indexOf(needle); at >= 0; at = joined.indexOf(needle, at + needle.length)) {
      spans.push({ start: at, end: at + needle.length });
    }
  }
  if (spans.length === 0 || joined.length === text.length) return spans;

  const kept = mapKept(text, joined.length, between);
  return spans.map(({ start, end }) => ({ start: kept[start] ?? 0, end: (kept[end - 1] ?? 0) + 1 }));
}

/** Where in the text each character stands that is left without what is between. */
function mapKept(text: string, length: number, between: RegExp): Uint32Array {
  const kept = new Uint32Array(length);
  let from = 0;
  let to = 0;
  for (const match of text.matchAll(between)) {
    while (from < match.index) kept[to++] = from++;
    from = match.index + match[0].length;
  }
  while (to < length) kept[to++] = from++;
  return kept;
}

/** Where the bytes at the text's end begin, in any base, as far as they may be the beginning of a secret. */
function findNumberTail(text: string, longest: number): number {
  const from = Math.max(0, text.length - Math.min(6 * longest, 1_536));
  // oxlint-disable-next-line no-control-regex -- control sequences are what it looks for
  const colours = /\x1b(?:\[[0-9;]{0,16}[A-Za-z]?)?|\p{Default_Ignorable_Code_Point}/gu;
  const plain = text.slice(from).replace(colours, ({ length }) => " ".repeat(length));
  const tail = /(?:(?<![0-9a-zA-Z])(?:0x)?[0-9a-fA-F]{2,8}[\s:,-]{1,24})+(?:0x)?[0-9a-fA-F]{0,8}$/.exec(
    plain,
  );
  return tail ? from + tail.index : text.length;
}

/**
 * Where the word at the text's end begins: it may grow into a token. With the control sequence before it, whose end it may
 * be; so is a backslash, which may become a line break.
 */
function startOfWord(text: string): number {
  // oxlint-disable-next-line no-control-regex -- control sequences are what it looks for
  const open = /(?:(?:\x1b\[[0-9;]{0,16})?[\w.~+/=-]{0,256}|\x1b|\\)$/;
  return text.length - (open.exec(text.slice(-256))?.[0].length ?? 0);
}

/** Where a private key that is not closed yet may have begun. */
function findKeyStart(text: string): number {
  const opening = text.lastIndexOf("-----BEGIN ");
  if (opening < 0 || opening < text.length - maxKey) return text.length;
  return /-----END [A-Z ]+-----/.test(text.slice(opening)) ? text.length : opening;
}

function mergeSpans(spans: Span[]): Span[] {
  const result: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last && span.start < last.end) last.end = Math.max(last.end, span.end);
    else result.push({ ...span });
  }
  return result;
}
