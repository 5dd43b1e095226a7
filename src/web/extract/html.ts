import { isProbablyReaderable, Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import TurndownService from "turndown";
import { toOneLine } from "../../agent/text/text.ts";
import type { DomDocument, DomElement, DomNode } from "./dom.ts";
import type { Extracted } from "./extracted.ts";
import { measureNesting, stripTags } from "./nesting.ts";

/** What browsers hold to, too (Chromium's HTML parser nests no deeper than 512). */
const deepest = 512;

/** What no reader needs. Pictures are left out: nothing may load one from an address that a page has chosen. */
const clutter =
  "script, style, noscript, template, svg, canvas, iframe, object, embed, input, select, dialog, link, meta";
/** What stands around the content of a page that is no article. */
const frame = "nav, footer, aside, [role=navigation], [role=banner], [role=contentinfo], [aria-hidden=true]";

/**
 * The readable part of a page as Markdown. Runs in a worker of its own: a hostile page may take any time and memory.
 *
 * @param whole everything, with menus and margins
 */
export function extractHtml(html: string, address: string, whole: boolean): Extracted {
  if (measureNesting(html, deepest) >= deepest) {
    return {
      text: stripTags(html),
      remarks: [`it is nested more than ${deepest} elements deep, so only its words are here, without links`],
    };
  }
  const document = parse(html, address);
  const title = toOneLine(document.querySelector("title")?.textContent ?? "");
  const article = !whole && isProbablyReaderable(document) ? readArticle(document) : undefined;
  if (article) {
    return {
      text: toMarkdown(article.content),
      title: toOneLine(article.title) || title,
      remarks: ["menus and margins are left out; whole gives them too"],
    };
  }
  // The attempt at an article takes the tree apart.
  const { body } = parse(html, address);
  if (!whole) for (const element of body.querySelectorAll(frame)) element.remove();
  return { text: toMarkdown(body), ...(title && { title }), remarks: [] };
}

/** The page as a tree, with whole addresses and without what nobody reads. */
function parse(html: string, address: string): DomDocument {
  const hasBody = /<body[\s>]/i.test(html);
  const { document }: { document: DomDocument } = parseHTML(
    // What stands behind the end of a body belongs to it (WHATWG HTML, “after body”).
    hasBody
      ? html.replaceAll(/<\/(html|body)\s*>/gi, "")
      : `<html><body>${html.replaceAll(/<\/?(html|body)(\s[^<>]*)?>/gi, "")}</body></html>`,
  );
  const base = document.querySelector("base")?.getAttribute("href") ?? "";
  for (const element of document.querySelectorAll(clutter)) element.remove();
  joinCode(document);
  resolveLinks(document, URL.parse(base, address)?.href ?? address);
  return document;
}

/** Code as one text with its lines, of which pages make elements: the Markdown has the first element of a block alone. */
function joinCode(document: DomDocument): void {
  for (const block of document.querySelectorAll("pre")) {
    const code = block.querySelector("code");
    if (!code) continue;
    for (const button of block.querySelectorAll("button")) button.remove();
    for (const line of block.querySelectorAll("br, code > div")) line.after("\n");
    const text = block.textContent ?? "";
    code.replaceChildren(text.replace(/^\n+/, ""));
    block.replaceChildren(code);
  }
}

/** Undefined where what was found is not most of the page. */
function readArticle(document: DomDocument): { title: string; content: DomNode } | undefined {
  const all = document.body.textContent?.length ?? 0;
  const read = new Readability<DomNode>(document, {
    charThreshold: 200,
    keepClasses: true,
    serializer: (node) => node,
  }).parse();
  const words = read?.textContent?.trim().length ?? 0;
  return read?.content && words * 4 > all ? { title: read.title ?? "", content: read.content } : undefined;
}

/** Links as whole addresses: what a page links may be fetched next. */
function resolveLinks(document: DomDocument, base: string): void {
  for (const link of document.querySelectorAll("a[href]")) {
    const url = URL.parse(link.getAttribute("href") ?? "", base);
    if (url && /^(https?|mailto):$/.test(url.protocol)) link.setAttribute("href", url.href);
    else link.removeAttribute("href");
  }
}

function toMarkdown(tree: DomNode): string {
  const turndown = new TurndownService({
    headingStyle: "atx",
    codeBlockStyle: "fenced",
    bulletListMarker: "-",
    emDelimiter: "*",
  });
  turndown.addRule("link", {
    filter: (node) => node.nodeName === "A",
    replacement(content, node) {
      const text = content.trim().replaceAll(/\s+/g, " ");
      const href = "getAttribute" in node ? node.getAttribute("href") : null;
      if (!href || text === "") return content;
      return `[${text}](${href.replaceAll("(", "%28").replaceAll(")", "%29")})`;
    },
  });
  turndown.addRule("image", {
    filter: "img",
    replacement(_, node) {
      const words = "getAttribute" in node ? toOneLine(node.getAttribute("alt") ?? "") : "";
      return words ? `(picture: ${words.slice(0, 200)})` : "";
    },
  });
  turndown.addRule("cell", {
    filter: ["th", "td"],
    replacement: (content, node) =>
      holdsCode(node.parentNode)
        ? `\n\n${content.trim()}\n\n`
        : ` ${content
            .trim()
            .replaceAll(/\s*\n\s*/g, " ")
            .replaceAll("|", "\\|")} |`,
  });
  turndown.addRule("row", {
    filter: "tr",
    replacement(content, node) {
      if (holdsCode(node)) return content;
      const cells = "children" in node ? node.children.length : 0;
      const before = "previousElementSibling" in node ? node.previousElementSibling : null;
      const isFirst = before?.nodeName !== "TR" && node.parentNode?.nodeName !== "TFOOT";
      const opens = isFirst && !(node.parentNode?.nodeName === "TBODY" && hasHead(node.parentNode));
      return `|${content}\n${opens ? `|${" --- |".repeat(cells)}\n` : ""}`;
    },
  });
  turndown.addRule("caption", { filter: "caption", replacement: (content) => `${content.trim()}\n\n` });
  turndown.addRule("rows", { filter: ["thead", "tbody", "tfoot"], replacement: (content) => content });
  turndown.addRule("table", { filter: "table", replacement: (content) => `\n\n${content.trim()}\n\n` });
  return (
    turndown
      // What it walks is any tree; its types ask for those of a browser.
      .turndown(tree as TurndownService.Node)
      .replaceAll(/[ \t]+$/gm, "")
      .replaceAll(/\n{3,}/g, "\n\n")
      .trim()
  );
}

/** A cell of a table has one line, and code has many. */
function holdsCode(row: DomNode | null): boolean {
  // A tree has no other nodes with that member.
  return row !== null && "querySelector" in row && (row as DomElement).querySelector("pre") !== null;
}

function hasHead(rows: DomNode): boolean {
  return [...(rows.parentNode?.childNodes ?? [])].some(({ nodeName }) => nodeName === "THEAD");
}
