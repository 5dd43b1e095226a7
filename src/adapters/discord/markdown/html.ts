import type { Mark } from "./runs.ts";

/** What a tag of HTML means in a chat. */
type Tag =
  | { kind: "break" }
  /** Begins and ends on a line of its own. */
  | { kind: "block" }
  | { kind: "heading"; name: string; closes: boolean }
  | { kind: "mark"; name: string; mark: Mark; closes: boolean }
  | { kind: "code"; closes: boolean }
  | { kind: "link"; href: string; closes: boolean }
  | { kind: "image"; src: string; alt: string }
  /** No tag that we know: the angle brackets of a type, for example, which people want to see. */
  | { kind: "text"; text: string };

const marks: Record<string, Mark> = {
  ...{ b: "bold", strong: "bold", i: "italic", em: "italic", cite: "italic", var: "italic" },
  ...{ u: "underline", ins: "underline", s: "strike", del: "strike", strike: "strike" },
};
const blocks = new Set(
  "address article aside blockquote center details div dd dl dt figure figcaption footer header hr li main nav ol p section table tbody thead tr ul".split(
    " ",
  ),
);
const headings = new Set(["h1", "h2", "h3", "h4", "h5", "h6", "summary"]);
const codes = new Set(["code", "kbd", "samp", "tt"]);
/** They mean nothing that text can show. */
const silent = new Set(["span", "font", "small", "sub", "sup", "mark", "abbr", "wbr", "picture", "source"]);

export function readTag(html: string): Tag {
  if (html.startsWith("<!--")) return { kind: "text", text: "" };
  const [, slash, tag = ""] = /^<(\/?)([a-zA-Z][a-zA-Z0-9]*)(?=[\s/>])/.exec(html) ?? [];
  const name = tag.toLowerCase();
  const closes = slash === "/";
  return readFormat(name, closes) ?? readReference(html, name, closes) ?? { kind: "text", text: html };
}

function readFormat(name: string, closes: boolean): Tag | undefined {
  const mark = Object.hasOwn(marks, name) ? marks[name] : undefined;
  if (mark) return { kind: "mark", name, mark, closes };
  if (name === "br") return { kind: "break" };
  if (name === "td" || name === "th") return { kind: "text", text: closes ? " " : "" };
  if (blocks.has(name)) return { kind: "block" };
  if (headings.has(name)) return { kind: "heading", name, closes };
  if (codes.has(name)) return { kind: "code", closes };
  return silent.has(name) ? { kind: "text", text: "" } : undefined;
}

function readReference(html: string, name: string, closes: boolean): Tag | undefined {
  const href = readAttribute(html, "href");
  if (name === "a" && (closes || href !== "")) return { kind: "link", href, closes };
  const src = readAttribute(html, "src");
  if (name === "img" && src !== "") return { kind: "image", src, alt: readAttribute(html, "alt") };
  return undefined;
}

function readAttribute(html: string, name: string): string {
  const [, , quoted, bare] =
    new RegExp(`\\s${name}\\s*=\\s*(?:(["'])(.*?)\\1|([^\\s"'=<>]+))`, "is").exec(html) ?? [];
  return decodeEntities(quoted ?? bare ?? "");
}

const entities: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'", nbsp: " " };

function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,6})|(\w{2,6}));/g, (entity, code: string | undefined, name = "") =>
    code === undefined ? (entities[name] ?? entity) : String.fromCodePoint(Number(code)),
  );
}

/**
 * A block of HTML whose content is no Markdown: what is preformatted is code, and so is a program. A comment says
 * nothing to people. Undefined for all others.
 */
export function readRawBlock(html: string): string | undefined {
  const start = html.trimStart();
  if (start.startsWith("<!--")) return "";
  if (/^<pre[\s>]/i.test(start)) {
    const inside = start.replace(/^<pre[^>]*>\n?/i, "").replace(/<\/pre>\s*$/i, "");
    return decodeEntities(inside.replaceAll(/<\/?(?:code|span|b|i|kbd|samp)(?:\s[^<>]*)?>/gi, ""));
  }
  return /^<(?:script|style|textarea|\?|!\[CDATA\[)/i.test(start) ? start : undefined;
}
