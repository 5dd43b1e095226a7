import type { AssistantPart, Message } from "../messages.ts";
import { countPiece, loadVocabulary, type Vocabulary } from "./bpe.ts";

/**
 * Counts tokens as the o200k encoding has them. For other models it is an estimate: correct it by what the
 * service reports, and keep a margin.
 *
 * The first use starts to load the vocabulary; until it is there, counts are estimates on the high side.
 */
export interface TokenCounter {
  /** Text that looks like a special token is plain text. */
  count(text: string): number;
  /** The same, remembered by the text: for what goes with the requests of many turns. */
  countFixed(text: string): number;
  /** With a message's overhead and its images. The count that is stored with it, else remembered per object. */
  countMessage(message: Message): number;
  /** Puts the count into the message, for storing with it, once it is exact: a session that is read again recounts nothing. */
  measure<M extends Message>(message: M): M;
  /**
   * The sum of its messages. Remembered per array, so that a growing conversation costs only what is new: an array
   * that was counted may be appended to, and never changed otherwise.
   */
  countMessages(messages: readonly Message[]): number;
  /** Resolves when counts are exact. */
  load(): Promise<void>;
}

/** What a message costs besides its content. */
const messageOverhead = 4;
/** The most that a provider charges for one image of up to 1,568 pixels a side, rounded up. */
const imageTokens = 1_600;
/** Longer pieces are counted in slices: merging is quadratic, and one pasted run would freeze the process. */
const maxPieceChars = 256;
/** Pieces whose counts are remembered, in two halves: when the newer is full the older is dropped. */
const halfCache = 25_000;
/** Texts that go with many requests whose counts are remembered. */
const mostFixed = 100;

export function createTokenCounter(): TokenCounter {
  let vocabulary: Vocabulary | undefined;
  let newer = new Map<string, number>();
  let older = new Map<string, number>();
  const fixed = new Map<string, number>();
  const messages = new WeakMap<Message, number>();
  const sums = new WeakMap<readonly Message[], { length: number; tokens: number }>();

  return { count, countFixed, countMessage, measure, countMessages, load };

  async function load(): Promise<void> {
    vocabulary = await loadVocabulary();
  }

  function count(text: string): number {
    if (!vocabulary) {
      // A vocabulary that cannot be loaded leaves the estimate in force; load() tells whoever wants to know.
      load().catch(() => undefined);
      return estimateTokens(text);
    }
    let tokens = 0;
    for (const piece of text.match(vocabulary.pattern) ?? []) tokens += countCached(piece, vocabulary.ranks);
    return tokens;
  }

  function countFixed(text: string): number {
    const tokens = fixed.get(text) ?? count(text);
    if (fixed.size >= mostFixed) fixed.clear();
    if (vocabulary) fixed.set(text, tokens);
    return tokens;
  }

  function countCached(piece: string, ranks: ReadonlyMap<string, number>): number {
    if (piece.length > maxPieceChars) {
      return splitIntoSlices(piece).reduce((sum, slice) => sum + countCached(slice, ranks), 0);
    }
    const known = newer.get(piece) ?? older.get(piece);
    if (known !== undefined) return known;
    const tokens = countPiece(Buffer.from(piece).toString("latin1"), ranks);
    if (newer.size >= halfCache) {
      older = newer;
      newer = new Map();
    }
    newer.set(copyString(piece), tokens);
    return tokens;
  }

  function countMessage(message: Message): number {
    const known = message.tokens ?? messages.get(message);
    if (known !== undefined) return known;
    const tokens = countAnew(message);
    if (vocabulary) messages.set(message, tokens);
    return tokens;
  }

  function countAnew(message: Message): number {
    const images = "images" in message ? (message.images?.length ?? 0) : 0;
    let tokens = messageOverhead + images * imageTokens;
    for (const text of listTexts(message)) tokens += count(text);
    return tokens;
  }

  function measure<M extends Message>(message: M): M {
    const tokens = message.tokens ?? messages.get(message) ?? countAnew(message);
    if (vocabulary) message.tokens = tokens;
    return message;
  }

  function countMessages(all: readonly Message[]): number {
    const known = sums.get(all) ?? { length: 0, tokens: 0 };
    let { tokens } = known;
    for (let at = known.length; at < all.length; at++) {
      const message = all[at];
      if (message) tokens += countMessage(message);
    }
    if (vocabulary) sums.set(all, { length: all.length, tokens });
    return tokens;
  }
}

/**
 * One token for three small letters or blanks, one for each Chinese, Japanese or Korean character, two for three of all
 * others. Capitals and digits count as one each: data in base64 and JSON has far more tokens than prose.
 *
 * @param dense what a capital or a digit counts; 1/3 is right for prose
 */
export function estimateTokens(text: string, dense = 1): number {
  let tokens = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if ((code >= 0x61 && code <= 0x7a) || code <= 0x20) tokens += 1 / 3;
    else if (code >= 0x30 && code <= 0x5a) tokens += dense;
    else if (code >= 0x2e80 && code < 0xfb00) tokens += 1;
    else tokens += 2 / 3;
  }
  return Math.ceil(tokens - 1e-6);
}

function listTexts(message: Message): string[] {
  switch (message.role) {
    case "user":
      return [message.author.name, message.text, message.beside ?? ""];
    case "assistant":
      return message.parts.flatMap(listPartTexts);
    case "tool":
      return [message.name, message.text];
    case "summary":
      return [message.text];
  }
}

function listPartTexts(part: AssistantPart): string[] {
  switch (part.type) {
    case "text":
    case "thinking":
      return [part.text];
    case "tool-call":
      return [part.call.name, JSON.stringify(part.call.input) ?? ""];
  }
}

/** A half of a surrogate pair would be counted as a replacement character, so pairs stay whole. */
function splitIntoSlices(piece: string): string[] {
  const result: string[] = [];
  for (let at = 0; at < piece.length; ) {
    let end = Math.min(at + maxPieceChars, piece.length);
    const last = piece.charCodeAt(end - 1);
    if (end < piece.length && last >= 0xd800 && last < 0xdc00) end -= 1;
    result.push(piece.slice(at, end));
    at = end;
  }
  return result;
}

/** V8 keeps the whole text alive behind a slice of it, and the cache would keep the slice. */
function copyString(piece: string): string {
  return Buffer.from(piece, "utf16le").toString("utf16le");
}
