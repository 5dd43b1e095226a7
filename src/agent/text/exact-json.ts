/** TypeScript's library does not know this part of JSON, which Node has since version 21. */
const { rawJSON, isRawJSON } = JSON as typeof JSON & {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): value is { rawJSON: string };
};

/**
 * What a text says in JSON. Integers that JavaScript would round, as ids of 64 bits are, become objects that
 * `JSON.stringify` writes as they were written; `readLongInteger` gives their digits.
 *
 * @throws SyntaxError
 * @example
 * JSON.stringify(parseExactJson("[1234567890123456789]")); // "[1234567890123456789]"
 */
export function parseExactJson(text: string): unknown {
  const keep = (_name: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? rawJSON(context?.source ?? "")
      : value;
  return /\d{16}/.test(text) ? JSON.parse(text, keep) : JSON.parse(text);
}

/** The digits of an integer that would have been rounded; undefined for every other value. */
export function readLongInteger(value: unknown): string | undefined {
  return isRawJSON(value) ? value.rawJSON : undefined;
}
