const stopWords = new Set(["stop", "cancel", "abort", "halt", "🛑"]);

/**
 * Whether the whole message is an order to stop. Exact after normalising, so that "don't stop until it works"
 * and "stop the server" stay tasks.
 */
export function isStopCommand(text: string): boolean {
  const word = text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[\s.!,:;/]+/g, " ")
    .trim();
  return stopWords.has(word);
}
