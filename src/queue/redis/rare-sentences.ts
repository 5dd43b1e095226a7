/** What stays true is said so often, ms. */
const everyMs = 60_000;
/** So many sentences are remembered. */
const mostSentences = 100;

/**
 * Tells whether a sentence is due: for the first time, or a minute after it was said last. What Redis refuses every
 * thread and every connection meets, many times a second, and a log that grows with each may fill the disk for the want
 * of which Redis refuses.
 */
export function createRareSentences(
  now: () => number = () => performance.now(),
): (sentence: string) => boolean {
  const saidAt = new Map<string, number>();
  return (sentence) => {
    const last = saidAt.get(sentence);
    if (last !== undefined && now() - last < everyMs) return false;
    if (saidAt.size === mostSentences) saidAt.clear();
    saidAt.set(sentence, now());
    return true;
  };
}
