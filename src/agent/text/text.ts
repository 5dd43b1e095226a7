/**
 * The value with each lone half of a surrogate pair replaced; the value itself where there is none. A model or a server
 * may send one in JSON, and model services refuse every request that contains one: once it were in the history, the
 * whole thread would be stuck.
 */
export function toWellFormed<T>(value: T): T {
  // Hardly anything is not, and a long history is looked through at the start of each turn.
  if (isWellFormed(value)) return value;
  // Of the same shape: only text is replaced, by text.
  return replaceLoneSurrogates(value) as T;
}

function replaceLoneSurrogates(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(replaceLoneSurrogates);
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, item]) => [key.toWellFormed(), replaceLoneSurrogates(item)]));
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

/**
 * The same without the beginning of a word at the cut, unless there is no other: of what is masked later, half a secret
 * would not be recognised. A word is of the signs that secrets have: other scripts are cut anywhere.
 */
export function cutWords(text: string, characters: number): string {
  const cut = cutText(text, characters);
  return cut === text ? cut : cut.replace(/(?<=[^!-~])[!-~]+…$/, "…");
}

/**
 * A text as searches compare it, whatever its case, and whether its accents are characters of their own, as in the names of
 * files of a Mac. As long as `text.normalize()`, but for very few letters.
 */
export function foldText(text: string): string {
  return text.normalize().toLowerCase();
}

/** A text on one line: every run of white space is one space. */
export function toOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/**
 * The text without these signs at its end. In one pass: a regular expression such as `/[.!]+$/` looks through a run of
 * them again from each of its signs, which takes seconds for the longest texts that people, models and pages send.
 */
export function cutSigns(text: string, signs: string): string {
  let end = text.length;
  while (end > 0 && signs.includes(text[end - 1] ?? "")) end -= 1;
  return text.slice(0, end);
}

/** The text of a file without the byte order mark that editors of Windows put first: it would be a part of the first word. */
export function dropByteOrderMark(text: string): string {
  return text.replace(/^\uFEFF/, "");
}

/** What a text holds as JSON; undefined where it holds none. */
export function parseJson(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
