/**
 * The inline part of the page's Markdown: text, code, emphasis, links. It yields plain data, never HTML.
 *
 * Whatever is not understood stays text. The time is linear in the length of the text, whatever it says: it
 * comes from models, from tools and from other people.
 */
import { decodeEntity, entity } from "./entities.ts";
import { createFormulaFinder } from "./formulas.ts";
import { parseOwnAddress, parseSafeAddress, stripTrailing } from "./link-address.ts";

export type Inline =
  | string
  | { type: "break" }
  | { type: "code"; text: string }
  /** Refers to a footnote. */
  | { type: "note"; label: string }
  | { type: "link"; href: string; children: Inline[] }
  | { type: "strong" | "emphasis" | "strike"; children: Inline[] };

/** A mark that is open, and what has come since. */
interface Frame {
  mark: string;
  text: string;
  children: Inline[];
}

/** Deeper marks stay text, so that no message can exhaust the stack of whoever walks the tree. */
const maxDepth = 12;

const linkStart = /https?:\/\/[^\s<>"'`|\\[\]]{1,2000}/y;
/** `](address)` or `](address "title")` after the text of a link. */
const linkEnd =
  /\]\(\s{0,9}<?((?:[^\s()<>[\]]|\([^\s()<>[\]]{0,200}\)){1,2000})>?(?:\s{1,9}"[^"\n]{0,200}")?\s{0,9}\)/y;
const angleLink = /<(https?:\/\/[^\s<>]{1,2000})>/y;
const punctuation = /[!-/:-@[-`{-~]/;
const wordChar = /[\p{L}\p{N}]/u;

const lineBreak = /<br *\/?>/iy;
const noteRef = /\[\^([^\s\]]{1,40})\]/y;

/** @param notes labels of the footnotes there are */
export function parseInline(text: string, notes: ReadonlySet<string> = new Set()): Inline[] {
  return new InlineParser(text, notes).parse();
}

class InlineParser {
  readonly #text: string;
  readonly #notes: ReadonlySet<string>;
  #at = 0;
  readonly #codeEnds: Map<number, number[]>;
  readonly #formulaAt: (at: number) => number;
  readonly #paragraph: Frame = { mark: "", text: "", children: [] };
  /** Open marks in the paragraph, outermost first. */
  readonly #open: Frame[] = [];
  /** How many of each mark are open, so that looking for one that is not there costs nothing. */
  readonly #count = new Map<string, number>();

  constructor(text: string, notes: ReadonlySet<string>) {
    this.#text = text;
    this.#notes = notes;
    this.#codeEnds = backtickRuns(text);
    this.#formulaAt = createFormulaFinder(text);
  }

  parse(): Inline[] {
    while (this.#at < this.#text.length) this.#step();
    while (this.#open.length > 0) this.#keepAsText();
    return this.#paragraph.children;
  }

  get #inner(): Frame {
    return this.#open.at(-1) ?? this.#paragraph;
  }

  #step(): unknown {
    const char = this.#text[this.#at];
    switch (char) {
      case "\\":
        return this.#formula() || this.#escape();
      case "$":
        return this.#formula() || this.#plain();
      case "\n":
        return this.#push({ type: "break" }, 1);
      case "`":
        return this.#code();
      case "*":
      case "_":
      case "~":
        return this.#emphasis(char);
      case "!":
        // An image would be fetched from elsewhere; it is shown as the link that it is.
        return this.#text[this.#at + 1] === "[" ? this.#openLink("![") : this.#plain();
      case "[":
        return this.#note() || this.#openLink("[");
      case "]":
        return this.#closeLink();
      case "<":
        return this.#break() || this.#bareLink(angleLink, 1) || this.#plain();
      case "&":
        return this.#entity() || this.#plain();
      case "h":
        return this.#bareLink(linkStart, 0) || this.#plain();
      default:
        return this.#plain();
    }
  }

  /** Takes plain text up to the next character that may mean something; always at least one. */
  #plain(): void {
    const next = /[\\\n`*_~![\]<&h$]/g;
    next.lastIndex = this.#at + 1;
    const end = next.exec(this.#text)?.index ?? this.#text.length;
    this.#push(this.#text.slice(this.#at, end), end - this.#at);
  }

  #formula(): boolean {
    const length = this.#formulaAt(this.#at);
    if (length === 0) return false;
    const lines = this.#text.slice(this.#at, this.#at + length).split("\n");
    for (const [index, line] of lines.entries()) {
      if (index > 0) this.#push({ type: "break" }, 1);
      this.#push(line, line.length);
    }
    return true;
  }

  #break(): boolean {
    const [whole] = match(lineBreak, this.#text, this.#at) ?? [];
    if (whole === undefined) return false;
    this.#push({ type: "break" }, whole.length);
    return true;
  }

  #note(): boolean {
    const [whole = "", label = ""] = match(noteRef, this.#text, this.#at) ?? [];
    if (!this.#notes.has(label)) return false;
    this.#push({ type: "note", label }, whole.length);
    return true;
  }

  #entity(): boolean {
    const found = match(entity, this.#text, this.#at);
    const shown = found && decodeEntity(found);
    if (!shown) return false;
    this.#push(shown, found[0].length);
    return true;
  }

  #escape(): void {
    const next = this.#text[this.#at + 1] ?? "";
    if (next === "\n") this.#push({ type: "break" }, 2);
    else if (punctuation.test(next)) this.#push(next, 2);
    else this.#push("\\", 1);
  }

  #code(): void {
    const length = runLength(this.#text, this.#at);
    const ends = this.#codeEnds.get(length) ?? [];
    while ((ends.at(-1) ?? Infinity) <= this.#at) ends.pop();
    const end = ends.at(-1);
    if (end === undefined) return this.#push("`".repeat(length), length);
    const inside = this.#text.slice(this.#at + length, end).replaceAll("\n", " ");
    const padded = inside.length > 2 && inside.startsWith(" ") && inside.endsWith(" ");
    this.#push({ type: "code", text: padded ? inside.slice(1, -1) : inside }, end + length - this.#at);
  }

  #emphasis(char: string): void {
    const length = runLength(this.#text, this.#at);
    if (char === "~" ? length !== 2 : length > 3) return this.#push(char.repeat(length), length);

    const before = this.#text[this.#at - 1] ?? " ";
    const after = this.#text[this.#at + length] ?? " ";
    const inWord = char === "_" && wordChar.test(before) && wordChar.test(after);
    this.#at += length;
    const canClose = !/\s/.test(before) && !inWord;
    const left = canClose ? this.#closeEmphasis(char, length) : length;
    if (left === 0) return;
    const canOpen = !/\s/.test(after) && !inWord && this.#open.length < maxDepth;
    if (canOpen) this.#enter(char.repeat(left));
    else this.#push(char.repeat(left), 0);
  }

  /** Closes what a run of marks can close and returns how many are left: `***` closes the innermost first. */
  #closeEmphasis(char: string, length: number): number {
    let left = length;
    while (left > 0) {
      const inner = this.#inner.mark;
      const sizes = inner.startsWith(char) ? [inner.length, left, 2, 1] : [left, 2, 1];
      const size = sizes.find((part) => part <= left && this.#count.get(char.repeat(part)));
      if (size === undefined) return left;
      this.#close(char.repeat(size));
      left -= size;
    }
    return 0;
  }

  #openLink(text: string): void {
    if (this.#open.length >= maxDepth) return this.#push(text, text.length);
    this.#at += text.length;
    this.#enter("[", text);
  }

  #closeLink(): void {
    if (!this.#count.get("[")) return this.#push("]", 1);
    const [whole = "", address = ""] = match(linkEnd, this.#text, this.#at) ?? [];
    const href = parseOwnAddress(address) ?? parseSafeAddress(address);
    while (this.#inner.mark !== "[") this.#keepAsText();
    if (!href) {
      this.#keepAsText();
      return this.#push("]", 1);
    }
    const { children } = this.#leave();
    this.#push({ type: "link", href, children: stripLinks(children) }, whole.length);
  }

  /** `hidden` characters surround the address on either side. */
  #bareLink(pattern: RegExp, hidden: 0 | 1): boolean {
    if (/\w/.test(this.#text[this.#at - 1] ?? "")) return false;
    const [whole = "", inside = ""] = match(pattern, this.#text, this.#at) ?? [];
    const shown = hidden ? inside : stripTrailing(whole);
    const href = parseSafeAddress(shown);
    if (!href) return false;
    this.#push({ type: "link", href, children: [shown] }, shown.length + 2 * hidden);
    return true;
  }

  #push(node: Inline, length: number): void {
    this.#at += length;
    const { children } = this.#inner;
    const last = children.at(-1);
    if (typeof node === "string" && typeof last === "string") children[children.length - 1] = last + node;
    else children.push(node);
  }

  #enter(mark: string, text = mark): void {
    this.#open.push({ mark, text, children: [] });
    this.#count.set(mark, (this.#count.get(mark) ?? 0) + 1);
  }

  #leave(): Frame {
    const frame = this.#open.pop() ?? this.#paragraph;
    this.#count.set(frame.mark, (this.#count.get(frame.mark) ?? 0) - 1);
    return frame;
  }

  #close(mark: string): void {
    while (this.#inner.mark !== mark) this.#keepAsText();
    const { children } = this.#leave();
    if (mark === "~~") this.#push({ type: "strike", children }, 0);
    else if (mark.length === 1) this.#push({ type: "emphasis", children }, 0);
    else if (mark.length === 2) this.#push({ type: "strong", children }, 0);
    else this.#push({ type: "strong", children: [{ type: "emphasis", children }] }, 0);
  }

  /** The innermost mark was never closed, so it is text. */
  #keepAsText(): void {
    const { text, children } = this.#leave();
    this.#push(text, 0);
    for (const child of children) this.#push(child, 0);
  }
}

function match(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at;
  return sticky.exec(text);
}

function runLength(text: string, at: number): number {
  let end = at;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

/** Where runs of backticks begin, by their length, last one first. */
function backtickRuns(text: string): Map<number, number[]> {
  const runs = [...text.matchAll(/`+/g)].toReversed();
  const byLength = Map.groupBy(runs, ([run]) => run.length);
  return new Map([...byLength].map(([length, alike]) => [length, alike.map(({ index }) => index)]));
}

function stripLinks(nodes: Inline[]): Inline[] {
  return nodes.flatMap((node) => {
    if (typeof node === "string" || !("children" in node)) return [node];
    const children = stripLinks(node.children);
    return node.type === "link" ? children : [{ ...node, children }];
  });
}
