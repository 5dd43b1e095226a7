/** Markdown as elements. Links lead to http(s), and say where, or to conversations of the page. */
import { copyButton } from "../copy.ts";
import { type Child, element, icon, type IconName } from "../dom.ts";
import { type Block, type ListItem, parseMarkdown } from "./blocks.ts";
import { colorWhenSeen } from "../highlight.ts";
import { changesScriptOften, hasManyElements, splitPieces } from "./heavy.ts";
import type { Inline } from "./inline.ts";
import { parseOwnAddress } from "./link-address.ts";

export function renderMarkdown(text: string): HTMLElement[] {
  return parseShown(text).map(renderBlock);
}

/** Text as it was written. */
export function renderPlain(text: string): Child[] {
  return changesScriptOften(text) ? splitPieces(text).map(renderPiece) : [text];
}

/** What is shown of a text: its blocks, or pieces of itself where these would hold up the page. */
type Shown = Block | { type: "piece"; text: string };

function parseShown(text: string): Shown[] {
  if (!changesScriptOften(text)) {
    const blocks = parseMarkdown(text);
    if (!hasManyElements(blocks)) return blocks;
  }
  return splitPieces(text).map((piece) => ({ type: "piece", text: piece }));
}

function renderPiece(text: string): HTMLElement {
  return element("span", { class: "piece" }, text);
}

/** The signs that Heddle itself begins a paragraph with, as drawings of the page: not every machine has a font for them. */
const signs: Record<string, IconName> = {
  "⏳": "waiting",
  "⏸️": "paused",
  "✅": "answered",
  "🛑": "stopped",
  "⚠️": "failed",
  "🚫": "stopped",
  "❓": "question",
  "🔐": "question",
};

const shown = new WeakMap<Element, string[]>();

/**
 * Shows Markdown in `node`, which nobody else fills. The blocks before the first that changed stay as they are, with
 * the focus and with what is selected in them. `signed`: Heddle itself says it, not the model.
 */
export function showMarkdown(node: Element, text: string, { signed }: { signed: boolean }): void {
  const blocks = parseShown(text);
  const now = blocks.map((block) => JSON.stringify(block));
  const before = shown.get(node) ?? [];
  const changed = now.findIndex((block, index) => block !== before[index]);
  const same = changed === -1 ? now.length : changed;
  while (node.childElementCount > same) node.lastElementChild?.remove();
  node.append(...blocks.slice(same).map(signed ? renderSigned : renderBlock));
  shown.set(node, now);
}

function renderSigned(block: Shown): HTMLElement {
  const [first, ...others] = block.type === "paragraph" ? block.children : [];
  if (typeof first !== "string") return renderBlock(block);
  const [sign, name] = Object.entries(signs).find(([known]) => first.startsWith(known)) ?? [];
  if (!sign || !name) return renderBlock(block);
  const drawing = element("span", { class: `own-sign ${name}` }, icon(name));
  return element("p", {}, drawing, ...renderInline([first.slice(sign.length), ...others]));
}

// The page has h1 for its name and h2 for the thread.
const headings = ["h3", "h4", "h5"] as const;

function renderBlock(block: Shown): HTMLElement {
  switch (block.type) {
    case "paragraph":
      return element("p", {}, ...renderInline(block.children));
    case "heading":
      return element(headings[block.level - 1] ?? "h6", {}, ...renderInline(block.children));
    case "code":
      return renderCode(block);
    case "rule":
      return element("hr");
    case "quote":
      return element("blockquote", { dir: "auto" }, ...block.blocks.map(renderBlock));
    case "list":
      return element(
        block.ordered ? "ol" : "ul",
        block.ordered ? { start: block.start, dir: "auto" } : { dir: "auto" },
        ...block.items.map(renderItem),
      );
    case "table":
      return renderTable(block);
    case "details":
      return element(
        "details",
        { class: "folded", open: block.open, dir: "auto" },
        element("summary", {}, ...renderInline(block.summary)),
        ...block.blocks.map(renderBlock),
      );
    case "notes":
      return element(
        "section",
        { class: "notes", "aria-label": "Footnotes" },
        ...block.notes.map(renderNote),
      );
    case "piece":
      return renderPiece(block.text);
  }
}

function renderItem({ checked, blocks }: ListItem): HTMLElement {
  // An item that is one line is not a paragraph.
  const content = blocks.flatMap((block, position) =>
    block.type === "paragraph" && position === 0 ? renderInline(block.children) : [renderBlock(block)],
  );
  if (checked === null) return element("li", {}, ...content);
  const attributes = {
    class: checked ? "box done" : "box",
    role: "img",
    "aria-label": checked ? "Done:" : "To do:",
  };
  const box = element("span", attributes, checked ? icon("answered") : "");
  return element("li", { class: "task" }, box, ...content);
}

function renderNote({ label, blocks }: { label: string; blocks: Block[] }): HTMLElement {
  return element(
    "div",
    { class: "note", dir: "auto" },
    element("sup", {}, label),
    element("div", {}, ...blocks.map(renderBlock)),
  );
}

function renderCode({ language, text }: Extract<Block, { type: "code" }>): HTMLElement {
  const code = element("code", {}, text);
  if (language) colorWhenSeen(code, text, language);
  const head = element("div", { class: "code-head" }, language, ...copyButton("Copy code", () => text));
  return element("div", { class: "code", dir: "ltr" }, head, element("pre", { tabindex: "0" }, code));
}

function renderTable({ aligns, rows: [head = [], ...rows] }: Extract<Block, { type: "table" }>): HTMLElement {
  const row = (tag: "th" | "td") => (cells: Inline[][]) =>
    element(
      "tr",
      {},
      ...cells.map((cell, column) =>
        element(tag, { class: aligns[column] ?? "start" }, ...renderInline(cell)),
      ),
    );
  const table = element(
    "table",
    { dir: "auto" },
    element("thead", {}, row("th")(head)),
    element("tbody", {}, ...rows.map(row("td"))),
  );
  return element("div", { class: "table", tabindex: "0" }, table);
}

const emphases = { strong: "strong", emphasis: "em", strike: "s" } as const;

function renderInline(nodes: Inline[]): Child[] {
  return nodes.map((node) => {
    if (typeof node === "string") return node;
    switch (node.type) {
      case "break":
        return element("br");
      case "code":
        return element("code", { dir: "ltr" }, node.text);
      case "note":
        return element("sup", { class: "note-ref" }, node.label);
      case "link":
        return renderLink(node);
      case "strong":
      case "emphasis":
      case "strike":
        return element(emphases[node.type], {}, ...renderInline(node.children));
    }
  });
}

function renderLink({ href, children }: Extract<Inline, { type: "link" }>): HTMLElement {
  // Another conversation of the page, which no address can pass itself off as.
  if (parseOwnAddress(href)) return element("a", { href }, ...renderInline(children));
  const attributes = { href, rel: "noopener noreferrer nofollow", target: "_blank", title: href };
  const link = element("a", attributes, ...renderInline(children));
  const { host } = new URL(href);
  // Text that looks like one address must not lead to another unseen.
  const plain = [href, href.replace(/\/$/, "")].includes(link.textContent ?? "");
  if (!plain) link.append(" ", element("span", { class: "target" }, `(${host})`));
  return link;
}
