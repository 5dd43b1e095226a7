/** Markdown as it is read out: the words alone. */
import { type Block, parseMarkdown } from "./blocks.ts";
import type { Inline } from "./inline.ts";

/** The beginning of the text on one line, at most `characters` of it. */
export function toSpoken(markdown: string, characters: number): string {
  // Marks take less room than words.
  const blocks = parseMarkdown(markdown.slice(0, 4 * characters));
  return speakBlocks(blocks).replaceAll(/\s+/g, " ").trim().slice(0, characters).toWellFormed();
}

function speakBlocks(blocks: readonly Block[]): string {
  return blocks.map(speakBlock).join(" ");
}

function speakBlock(block: Block): string {
  switch (block.type) {
    case "paragraph":
    case "heading":
      return speakInline(block.children);
    case "code":
      return block.text;
    case "rule":
      return "";
    case "quote":
      return speakBlocks(block.blocks);
    case "list":
      return block.items.map((item) => speakBlocks(item.blocks)).join(" ");
    case "table":
      return block.rows.map((cells) => cells.map(speakInline).join(" ")).join(" ");
    case "details":
      return `${speakInline(block.summary)} ${speakBlocks(block.blocks)}`;
    case "notes":
      return block.notes.map((note) => speakBlocks(note.blocks)).join(" ");
  }
}

function speakInline(nodes: readonly Inline[]): string {
  return nodes.map(speakNode).join("");
}

function speakNode(node: Inline): string {
  if (typeof node === "string") return node;
  switch (node.type) {
    case "break":
      return " ";
    case "code":
      return node.text;
    case "note":
      return "";
    case "link":
    case "strong":
    case "emphasis":
    case "strike":
      return speakInline(node.children);
  }
}
