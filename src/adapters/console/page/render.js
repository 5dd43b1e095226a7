/** Markdown as elements. Links lead to http(s) only and say where they lead. */
import { element, icon } from "./dom.js";
import { parseMarkdown } from "./markdown.js";

export function renderMarkdown(text) {
  return parseMarkdown(text).map(renderBlock);
}

/** The signs that Heddle itself begins a paragraph with, as drawings of the page: not every machine has a font for them. */
const signs = {
  "⏳": "waiting",
  "⏸️": "paused",
  "✅": "answered",
  "🛑": "stopped",
  "⚠️": "failed",
  "🚫": "stopped",
  "❓": "question",
  "🔐": "question",
};

const shown = new WeakMap();

/**
 * Shows Markdown in `node`, which nobody else fills. The blocks before the first that changed stay as they are, with
 * the focus and with what is selected in them. `signed`: Heddle itself says it, not the model.
 */
export function showMarkdown(node, text, { signed }) {
  const blocks = parseMarkdown(text);
  const now = blocks.map((block) => JSON.stringify(block));
  const before = shown.get(node) ?? [];
  const changed = now.findIndex((block, index) => block !== before[index]);
  const same = changed === -1 ? now.length : changed;
  while (node.childElementCount > same) node.lastElementChild.remove();
  node.append(...blocks.slice(same).map(signed ? renderSigned : renderBlock));
  shown.set(node, now);
}

function renderSigned(block) {
  const [first] = block.type === "paragraph" ? block.children : [];
  const sign = typeof first === "string" && Object.keys(signs).find((known) => first.startsWith(known));
  if (!sign) return renderBlock(block);
  const rest = [first.slice(sign.length), ...block.children.slice(1)];
  const drawing = element("span", { class: `own-sign ${signs[sign]}` }, icon(signs[sign]));
  return element("p", {}, drawing, ...renderInline(rest));
}

function renderBlock(block) {
  switch (block.type) {
    case "paragraph":
      return element("p", {}, ...renderInline(block.children));
    case "heading":
      // The page has h1 for its name and h2 for the thread.
      return element(`h${Math.min(block.level + 2, 6)}`, {}, ...renderInline(block.children));
    case "code":
      return renderCode(block);
    case "rule":
      return element("hr");
    case "quote":
      return element("blockquote", {}, ...block.blocks.map(renderBlock));
    case "list":
      return element(
        block.ordered ? "ol" : "ul",
        block.ordered ? { start: block.start } : {},
        ...block.items.map(renderItem),
      );
    default:
      return renderTable(block);
  }
}

function renderItem({ checked, blocks }) {
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

function renderCode({ language, text }) {
  const code = element("pre", { tabindex: "0" }, element("code", {}, text));
  // Browsers offer the clipboard to pages on this machine or behind https only.
  const copy =
    navigator.clipboard &&
    element("button", { type: "button", class: "quiet", "aria-label": "Copy this code" }, icon("copy"));
  copy?.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    copy.replaceChildren(icon("answered"));
  });
  return element(
    "div",
    { class: "code" },
    element("div", { class: "code-head" }, language || "text", copy ?? ""),
    code,
  );
}

function renderTable({ aligns, rows: [head, ...rows] }) {
  const row = (tag) => (cells) =>
    element(
      "tr",
      {},
      ...cells.map((cell, column) => element(tag, { class: aligns[column] }, ...renderInline(cell))),
    );
  const table = element(
    "table",
    {},
    element("thead", {}, row("th")(head)),
    element("tbody", {}, ...rows.map(row("td"))),
  );
  return element("div", { class: "table", tabindex: "0" }, table);
}

function renderInline(nodes) {
  return nodes.map((node) => {
    if (typeof node === "string") return node;
    switch (node.type) {
      case "break":
        return element("br");
      case "code":
        return element("code", {}, node.text);
      case "link":
        return renderLink(node);
      default:
        return element(
          { strong: "strong", emphasis: "em", strike: "s" }[node.type],
          {},
          ...renderInline(node.children),
        );
    }
  });
}

function renderLink({ href, children }) {
  const attributes = { href, rel: "noopener noreferrer nofollow", target: "_blank", title: href };
  const link = element("a", attributes, ...renderInline(children));
  const { host } = new URL(href);
  // Text that looks like one address must not lead to another unseen.
  const plain = [href, href.replace(/\/$/, "")].includes(link.textContent);
  if (!plain) link.append(" ", element("span", { class: "target" }, `(${host})`));
  return link;
}
