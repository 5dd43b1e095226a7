/**
 * The value with each half of a surrogate pair replaced; itself where there is none. A model or a server may send one in JSON, and a model's
 * service takes no request that has one anywhere: none of the thread, once it is in the history.
 */
export function toWellFormed<T>(value: T): T;
export function toWellFormed(value: unknown): unknown {
  // Hardly anything is not, and a long history is looked through at the start of each turn.
  if (isWellFormed(value)) return value;
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map((item: unknown) => toWellFormed(item));
  const entries = Object.entries(Object(value));
  return Object.fromEntries(entries.map(([key, item]) => [key.toWellFormed(), toWellFormed(item)]));
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isWellFormed);
  return Object.keys(value).every(isWellFormed) && Object.values(value).every(isWellFormed);
}

/** At most so many characters of a text, the "…" of a cut one included, and no half of a surrogate pair at the cut. */
export function cutText(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${text
    .slice(0, characters - 1)
    .replace(/[\ud800-\udbff]$/, "")
    .trimEnd()}…`;
}
