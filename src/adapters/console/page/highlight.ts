/**
 * Colours for code. highlight.js is fetched when the first code is seen; it gives HTML as a string, which the page's
 * content policy forbids to use, so its spans are read here and made as elements.
 */
import { type Child, element } from "./dom.ts";

/** What is used of highlight.js. */
interface Highlighter {
  getLanguage(name: string): unknown;
  highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { value: string };
}

const address = "/vendor/highlight.js";

/** Of one block of a message, which may be drawn anew many times a second while it is written. */
const messageChars = 20_000;
const eagerChars = 4_000;
/** More would hold up the page. */
const maxSpans = 20_000;

let loaded: Highlighter | undefined;
let loading: Promise<Highlighter | undefined> | undefined;

/** Undefined where it cannot be fetched: code is then shown without colours. */
function load(): Promise<Highlighter | undefined> {
  loading ??= (async () => {
    try {
      const module: { default: Highlighter } = await import(address);
      loaded = module.default;
    } catch {
      loading = undefined;
    }
    return loaded;
  })();
  return loading;
}

/** The text as nodes with the classes of highlight.js; undefined for a language that it does not know. */
export async function highlight(text: string, language: string): Promise<Child[] | undefined> {
  const highlighter = await load();
  return highlighter && color(highlighter, text, language);
}

function color(highlighter: Highlighter, text: string, language: string): Child[] | undefined {
  if (!highlighter.getLanguage(language)) return undefined;
  return toNodes(highlighter.highlight(text, { language, ignoreIllegals: true }).value);
}

const waiting = new WeakMap<Element, () => void>();
const observer =
  typeof IntersectionObserver === "undefined"
    ? undefined
    : new IntersectionObserver(
        (entries) => {
          for (const { target, isIntersecting } of entries) {
            if (!isIntersecting) continue;
            observer?.unobserve(target);
            waiting.get(target)?.();
          }
        },
        { rootMargin: "400px" },
      );

/** Colours code of a message once it comes near the part of the page that is seen. */
export function colorWhenSeen(code: HTMLElement, text: string, fence: string): void {
  const [language = ""] = fence.toLowerCase().split(/[\s,{]/);
  if (text.length > messageChars) return;
  // While it is being written it must not flicker.
  const known = loaded && text.length <= eagerChars && color(loaded, text, language);
  if (known) return code.replaceChildren(...known);
  const act = async () => {
    const colored = await highlight(text, language);
    if (colored) code.replaceChildren(...colored);
  };
  waiting.set(code, () => void act());
  observer?.observe(code);
}

const entities: Record<string, string> = {
  ...{ "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'" },
};

/** What highlight.js writes: spans with classes, and five entities. Undefined where that is too much for a page. */
function toNodes(html: string): Child[] | undefined {
  const root: Child[] = [];
  const open: HTMLElement[] = [];
  const add = (child: Child) => {
    const inner = open.at(-1);
    if (inner) inner.append(child);
    else root.push(child);
  };
  let spans = 0;
  for (const [token, classes] of html.matchAll(/<span class="([\w\s.-]*)">|<\/span>|&[#\w]+;|[^<&]+|[<&]/g)) {
    if (classes !== undefined) {
      spans += 1;
      if (spans > maxSpans) return undefined;
      const span = element("span", { class: classes });
      add(span);
      open.push(span);
    } else if (token === "</span>") open.pop();
    else add(entities[token] ?? token);
  }
  return root;
}
