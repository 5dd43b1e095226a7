import type { TokenCounter } from "./tokens.ts";

/** What people's requests may take of a summary, in tokens. */
export interface IntentLimits {
  /** Aimed for: beyond it requests are shortened. */
  soft: number;
  /** Never exceeded: beyond it the oldest are only counted. */
  hard: number;
  counter: TokenCounter;
}

/** Lengths to which requests are shortened, in characters; the last is the shortest that still tells what was asked. */
const lengths = [4_000, 2_000, 1_000, 500, 250, 125];
const shortest = 60;

/** Share of the soft limit that the newest requests may take unshortened when not all fit so. */
const wholeShare = 0.5;

/** What a list entry costs besides its text. */
const entryOverhead = 2;

/**
 * The newest requests whole while they fit, the older ones shortened in their middle. `dropped` is how many of the
 * oldest do not fit even so.
 */
export function fitIntents(
  intents: readonly string[],
  { soft, hard, counter }: IntentLimits,
): { kept: string[]; dropped: number } {
  const takeNewest = (from: readonly string[], tokens: number, chars: number) => {
    const taken: string[] = [];
    let left = tokens;
    for (const intent of from.toReversed()) {
      const short = cutMiddle(intent, chars);
      const size = counter.count(short) + entryOverhead;
      if (size > left) break;
      left -= size;
      taken.push(short);
    }
    return { taken: taken.toReversed(), used: tokens - left };
  };

  const all = takeNewest(intents, soft, Infinity).taken;
  if (all.length === intents.length) return { kept: all, dropped: 0 };

  const whole = takeNewest(intents, soft * wholeShare, Infinity);
  const older = intents.slice(0, intents.length - whole.taken.length);
  for (const chars of lengths) {
    const { taken } = takeNewest(older, soft - whole.used, chars);
    if (taken.length === older.length) return { kept: [...taken, ...whole.taken], dropped: 0 };
  }
  const { taken } = takeNewest(older, Math.max(soft, hard) - whole.used, shortest);
  return { kept: [...taken, ...whole.taken], dropped: older.length - taken.length };
}

/** At most so many characters: the beginning and the end, on one line. */
function cutMiddle(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const line = text.replaceAll(/\s+/g, " ");
  if (line.length <= characters) return line;
  const head = Math.ceil((characters - 3) * 0.6);
  const tail = characters - 3 - head;
  const start = line.slice(0, head).replace(/[\ud800-\udbff]$/, "");
  return `${start.trimEnd()} … ${line
    .slice(-tail)
    .replace(/^[\udc00-\udfff]/, "")
    .trimStart()}`;
}
