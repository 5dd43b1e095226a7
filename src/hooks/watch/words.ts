import { createContext, Script } from "node:vm";

/** Of a text, which may be long and hostile. */
const judgedChars = 4_000;
/** An expression may search so long in one text, and then is not asked for a while, ms. */
const searchMs = 20;
const restMs = 60_000;

/** What a text is searched for. */
interface WordSettings {
  words?: readonly string[];
  pattern?: string;
}

/**
 * Creates what says whether a text has one of the words, or matches the expression; without both every text does. An
 * expression that searches too long has not matched, and is left out for a minute: whoever writes the texts must not
 * hold up the process. `onSlow` is told then.
 */
export function createWordFilter(
  { words = [], pattern }: WordSettings,
  { now, onSlow }: { now(): number; onSlow(): void },
): (text: string) => boolean {
  if (words.length === 0 && pattern === undefined) return () => true;
  const wanted = words.map(normalize);
  const search = pattern === undefined ? undefined : createSearch(pattern);
  let restsUntil = 0;
  return (text) => {
    const judged = text.slice(0, judgedChars);
    if (wanted.length > 0 && hasWord(normalize(judged), wanted)) return true;
    if (!search || now() < restsUntil) return false;
    const found = search(judged);
    if (found !== "too-slow") return found;
    restsUntil = now() + restMs;
    onSlow();
    return false;
  };
}

function normalize(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

/** As whole words, which letters and digits around them would make longer ones. */
function hasWord(text: string, words: readonly string[]): boolean {
  const isPart = (char: string | undefined) => char !== undefined && /[\p{L}\p{N}_]/u.test(char);
  return words.some((word) => {
    for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1))
      if (!isPart(text[at - 1]) && !isPart(text[at + word.length])) return true;
    return false;
  });
}

const searching = new Script("pattern.test(text)");

/** In a context of its own, for V8 ends a search in time only there. https://nodejs.org/api/vm.html#scriptrunincontextcontextifiedobject-options */
function createSearch(pattern: string): (text: string) => boolean | "too-slow" {
  const context = createContext(Object.assign(Object.create(null), { pattern: new RegExp(pattern, "iu") }));
  return (text) => {
    context["text"] = text;
    try {
      return searching.runInContext(context, { timeout: searchMs }) === true;
    } catch {
      return "too-slow";
    }
  };
}
