import { setImmediate } from "node:timers/promises";

/** The part of a js-tiktoken vocabulary that counting needs. */
export interface Vocabulary {
  /** The pattern that cuts a text into pieces; tokens never reach over a piece's end. */
  pattern: RegExp;
  /** Token bytes, as a latin1 string, to merge rank. */
  ranks: ReadonlyMap<string, number>;
}

let loading: Promise<Vocabulary> | undefined;

/** The o200k vocabulary: some 50 MB, loaded once a process. */
export function loadVocabulary(): Promise<Vocabulary> {
  loading ??= readVocabulary();
  return loading;
}

/** Takes some 200 ms in small bites, so that nothing else has to wait. */
async function readVocabulary(): Promise<Vocabulary> {
  const { default: source } = await import("js-tiktoken/ranks/o200k_base");
  const ranks = new Map<string, number>();
  for (const line of source.bpe_ranks.split("\n")) {
    const [, offset, ...tokens] = line.split(" ");
    for (const [index, token] of tokens.entries()) {
      ranks.set(atob(token), Number(offset) + index);
      if (index % 5_000 === 4_999) await setImmediate();
    }
  }
  return { pattern: new RegExp(source.pat_str, "gu"), ranks };
}

/**
 * The number of tokens of one piece. Quadratic in the piece's length: slice long ones first.
 *
 * @param bytes the piece's UTF-8 bytes as a latin1 string
 */
export function countPiece(bytes: string, ranks: ReadonlyMap<string, number>): number {
  if (ranks.has(bytes)) return 1;
  const starts = Array.from({ length: bytes.length + 1 }, (_, index) => index);
  const findRank = (index: number) => ranks.get(bytes.slice(starts[index], starts[index + 2])) ?? Infinity;
  // pairs[i] is the rank of the token that parts i and i + 1 would become; the lowest merges first.
  const pairs = starts.slice(2).map((_, index) => findRank(index));
  while (pairs.length > 0) {
    let lowest = 0;
    for (let index = 1; index < pairs.length; index++) {
      if ((pairs[index] ?? Infinity) < (pairs[lowest] ?? Infinity)) lowest = index;
    }
    if (pairs[lowest] === Infinity) break;
    starts.splice(lowest + 1, 1);
    pairs.splice(lowest, 1);
    if (lowest < pairs.length) pairs[lowest] = findRank(lowest);
    if (lowest > 0) pairs[lowest - 1] = findRank(lowest - 1);
  }
  return starts.length - 1;
}
