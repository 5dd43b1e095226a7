/**
 * The value with each half of a surrogate pair replaced. A model or a server may send one in JSON, and a model's
 * service takes no request that has one anywhere: none of the thread, once it is in the history.
 */
export function wellFormed<T>(value: T): T;
export function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map((item: unknown) => wellFormed(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [wellFormed(key), wellFormed(item)]));
}

/** At most so many characters of a text, the "…" of a cut one included, and no half of a surrogate pair at the cut. */
export function cutText(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${text
    .slice(0, characters - 1)
    .replace(/[\ud800-\udbff]$/, "")
    .trimEnd()}…`;
}
