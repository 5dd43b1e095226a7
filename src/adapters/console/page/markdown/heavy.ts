/**
 * Text that would hold up the browser. It is shown as it was written, in pieces that are laid out when they come into view.
 *
 * Parsing is linear in the length of the text, laying out is not: Chromium takes half a minute for 100,000 letters of
 * alternating direction, and seconds for some ten thousand elements.
 */
import type { Block, ListItem } from "./blocks.ts";
import type { Inline } from "./inline.ts";

/** Laid out in about half a second; an answer of 100,000 characters that people can use has a tenth of it. */
const maxElements = 5_000;
/** Laid out in a tenth of a second where they stand in one line; the time grows with their square. */
const maxScriptChanges = 4_000;
const pieceChars = 1_000;

/** Whether it changes between scripts more often than a text of any language does. */
export function changesScriptOften(text: string): boolean {
  let changes = 0;
  let before = 0;
  for (let at = 0; at < text.length; at += 1) {
    const script = scriptOf(text.charCodeAt(at)) ?? before;
    if (script !== before) changes += 1;
    before = script;
  }
  return changes > maxScriptChanges;
}

/** Which characters are drawn in one go, roughly; undefined for those that go with any of them. */
function scriptOf(code: number): number | undefined {
  // Letters and digits of ASCII: the direction of digits is their own.
  if (code < 0x80) return /\w/.test(String.fromCharCode(code)) ? 0 : undefined;
  if (code < 0xc0 || isBetween(code, 0x300, 0x36f) || isBetween(code, 0x2000, 0x206f)) return undefined;
  if (code < 0x250 || isBetween(code, 0x1e00, 0x1eff)) return 0;
  if (isBetween(code, 0x2e80, 0xd7ff) || isBetween(code, 0xff00, 0xffef)) return 1;
  // Blocks of 128 are the scripts, near enough.
  return 2 + (code >> 7);
}

function isBetween(code: number, first: number, last: number): boolean {
  return code >= first && code <= last;
}

export function hasManyElements(blocks: Block[]): boolean {
  return sumOf(blocks, countBlock) > maxElements;
}

function countBlock(block: Block): number {
  switch (block.type) {
    case "paragraph":
    case "heading":
      return 1 + sumOf(block.children, countInline);
    case "code":
      return 7;
    case "rule":
      return 1;
    case "quote":
      return 1 + sumOf(block.blocks, countBlock);
    case "details":
      return 3 + sumOf(block.summary, countInline) + sumOf(block.blocks, countBlock);
    case "notes":
      return 1 + sumOf(block.notes, (one) => 2 + sumOf(one.blocks, countBlock));
    case "list":
      return 1 + sumOf(block.items, countItem);
    case "table":
      return 3 + sumOf(block.rows, (row) => 1 + sumOf(row, (cell) => 1 + sumOf(cell, countInline)));
  }
}

function countItem({ checked, blocks }: ListItem): number {
  return (checked === null ? 1 : 4) + sumOf(blocks, countBlock);
}

function countInline(node: Inline): number {
  if (typeof node === "string") return 0;
  return "children" in node ? 2 + sumOf(node.children, countInline) : 1;
}

function sumOf<Item>(items: Item[], count: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + count(item), 0);
}

/** The whole text in pieces, which end with a line where there is an end of one. */
export function splitPieces(text: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const lineEnd = text.lastIndexOf("\n", at + pieceChars - 1) + 1;
    let end = lineEnd > at ? lineEnd : at + pieceChars;
    // Both halves of a character stay together.
    if (end < text.length && isBetween(text.charCodeAt(end), 0xdc00, 0xdfff)) end += 1;
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}
