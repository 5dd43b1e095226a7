import type { Masker } from "../masker.ts";
import { listSecretForms, secretShapes } from "./secrets.ts";

/** From `start` up to, not including, `end`. */
interface Span {
  start: number;
  end: number;
}

const replacement = "[masked]";

/** Held back by a stream at most; only a flood without a blank or line end gets there. */
const maxHeld = 65_536;
/** How far behind its opening line the end of a private key is waited for. */
const maxKey = 8_192;

/**
 * Masks the given values, as they are and encoded, also across line breaks, and whatever has the shape of a
 * well-known token. Values of fewer than 8 characters are ignored: they would blank ordinary words.
 */
export function createMasker(secrets: readonly string[]): Masker {
  const needles = [...new Set(secrets.filter((secret) => secret.length >= 8).flatMap(listSecretForms))];
  const longest = needles.reduce((length, needle) => Math.max(length, needle.length), 0);
  const byFirst = Map.groupBy(needles, (needle) => needle[0]);

  return { mask, stream };

  function mask(text: string): string {
    let result = "";
    let at = 0;
    for (const { start, end } of find(text)) {
      result += text.slice(at, start) + replacement;
      at = end;
    }
    return at === 0 ? text : result + text.slice(at);
  }

  function stream(emit: (chunk: string) => void): { write(chunk: string): void; end(): void } {
    let held = "";
    const release = (length: number) => {
      const text = mask(held.slice(0, length));
      held = held.slice(length);
      if (text !== "") emit(text);
    };
    return {
      write(chunk) {
        held += chunk;
        release(held.length > maxHeld ? held.length : measureSettled(held));
      },
      end: () => release(held.length),
    };
  }

  function find(text: string): Span[] {
    const spans = findNeedles(text, needles);
    for (const match of text.matchAll(secretShapes)) {
      spans.push({ start: match.index, end: match.index + match[0].length });
    }
    return mergeSpans(spans);
  }

  /** How much of the text no later chunk can turn into a part of a secret. */
  function measureSettled(text: string): number {
    const spans = find(text);
    const settled = Math.min(startOfWord(text), findKeyStart(text), startOfNeedle(text));
    const cut = spans.find(({ start, end }) => end === text.length || (start < settled && settled < end));
    return Math.min(settled, cut?.start ?? settled);
  }

  /** Where the text's end may be the beginning of a needle; the text's length when it is not. */
  function startOfNeedle(text: string): number {
    for (let start = Math.max(0, text.length - 2 * longest); start < text.length; start++) {
      const candidates = byFirst.get(text[start]);
      if (!candidates) continue;
      const rest = removeBreaks(text.slice(start));
      if (candidates.some((needle) => needle.startsWith(rest))) return start;
    }
    return text.length;
  }
}

/** Line breaks are skipped in the search: encoders wrap their output. */
function findNeedles(text: string, needles: readonly string[]): Span[] {
  const joined = removeBreaks(text);
  const spans: Span[] = [];
  for (const needle of needles) {
    for (let at = joined.indexOf(needle); at >= 0; at = joined.indexOf(needle, at + needle.length)) {
      spans.push({ start: at, end: at + needle.length });
    }
  }
  if (spans.length === 0 || joined.length === text.length) return spans;

  const kept = new Uint32Array(joined.length);
  for (let from = 0, to = 0; from < text.length; from++) {
    if (text[from] !== "\n" && text[from] !== "\r") kept[to++] = from;
  }
  return spans.map(({ start, end }) => ({ start: kept[start] ?? 0, end: (kept[end - 1] ?? 0) + 1 }));
}

/** Where the word at the text's end begins: it may grow into a token. */
function startOfWord(text: string): number {
  return text.length - (/[\w.-]{0,256}$/.exec(text.slice(-256))?.[0].length ?? 0);
}

/** Where a private key that is not closed yet may have begun. */
function findKeyStart(text: string): number {
  const opening = text.lastIndexOf("-----BEGIN ");
  if (opening < 0 || opening < text.length - maxKey) return text.length;
  return /-----END [A-Z ]+-----/.test(text.slice(opening)) ? text.length : opening;
}

function removeBreaks(text: string): string {
  return text.replace(/[\r\n]+/g, "");
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
