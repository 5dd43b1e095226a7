/**
 * The inline part of the page's Markdown: text, code, emphasis, links. It yields plain data, never HTML.
 *
 * Inline = string | { type: "break" } | { type: "code", text } | { type: "link", href, children }
 *        | { type: "strong" | "emphasis" | "strike", children }
 *
 * Whatever is not understood stays text. The time is linear in the length of the text, whatever it says: it
 * comes from models, from tools and from other people.
 */

/** Deeper marks stay text, so that no message can exhaust the stack of whoever walks the tree. */
const maxDepth = 12;

const linkStart = /https?:\/\/[^\s<>"'`|\\[\]]{1,2000}/y;
/** `](address)` or `](address "title")` after the text of a link. */
const linkEnd =
  /\]\(\s{0,9}<?((?:[^\s()<>[\]]|\([^\s()<>[\]]{0,200}\)){1,2000})>?(?:\s{1,9}"[^"\n]{0,200}")?\s{0,9}\)/y;
const angleLink = /<(https?:\/\/[^\s<>]{1,2000})>/y;
const punctuation = /[!-/:-@[-`{-~]/;
const wordChar = /[\p{L}\p{N}]/u;

const emphasisByLength = ["", "emphasis", "strong"];

export function parseInline(text) {
  return new InlineParser(text).parse();
}

/** The address when it is one that may be followed from here, else null. */
function safeAddress(text) {
  const url = URL.parse(text);
  return url && (url.protocol === "https:" || url.protocol === "http:") ? url.href : null;
}

class InlineParser {
  #text;
  #at = 0;
  #codeEnds;
  /** Open marks, outermost first; the first one is the paragraph itself. */
  #open = [{ mark: "", text: "", children: [] }];
  /** How many of each mark are open, so that looking for one that is not there costs nothing. */
  #count = new Map();

  constructor(text) {
    this.#text = text;
    this.#codeEnds = backtickRuns(text);
  }

  parse() {
    while (this.#at < this.#text.length) this.#step();
    while (this.#open.length > 1) this.#giveUp();
    return this.#open[0].children;
  }

  #step() {
    const char = this.#text[this.#at];
    switch (char) {
      case "\\":
        return this.#escape();
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
        return this.#openLink("[");
      case "]":
        return this.#closeLink();
      case "<":
        return this.#bareLink(angleLink, 1) || this.#plain();
      case "h":
        return this.#bareLink(linkStart, 0) || this.#plain();
      default:
        return this.#plain();
    }
  }

  /** Takes plain text up to the next character that may mean something; always at least one. */
  #plain() {
    const next = /[\\\n`*_~![\]<h]/g;
    next.lastIndex = this.#at + 1;
    const end = next.exec(this.#text)?.index ?? this.#text.length;
    this.#push(this.#text.slice(this.#at, end), end - this.#at);
  }

  #escape() {
    const next = this.#text[this.#at + 1] ?? "";
    if (next === "\n") this.#push({ type: "break" }, 2);
    else if (punctuation.test(next)) this.#push(next, 2);
    else this.#push("\\", 1);
  }

  #code() {
    const length = runLength(this.#text, this.#at);
    const ends = this.#codeEnds.get(length) ?? [];
    while (ends.length > 0 && ends.at(-1) <= this.#at) ends.pop();
    const end = ends.at(-1);
    if (end === undefined) return this.#push("`".repeat(length), length);
    const inside = this.#text.slice(this.#at + length, end).replaceAll("\n", " ");
    const padded = inside.length > 2 && inside.startsWith(" ") && inside.endsWith(" ");
    this.#push({ type: "code", text: padded ? inside.slice(1, -1) : inside }, end + length - this.#at);
  }

  #emphasis(char) {
    const length = runLength(this.#text, this.#at);
    if (char === "~" ? length !== 2 : length > 3) return this.#push(char.repeat(length), length);

    const before = this.#text[this.#at - 1] ?? " ";
    const after = this.#text[this.#at + length] ?? " ";
    const inWord = char === "_" && wordChar.test(before) && wordChar.test(after);
    let canClose = !/\s/.test(before) && !inWord;
    this.#at += length;
    let left = length;
    while (canClose && left > 0) {
      // `***` closes what is open, the innermost first.
      const inner = this.#open.at(-1).mark;
      const sizes = inner.startsWith(char) ? [inner.length, left, 2, 1] : [left, 2, 1];
      const size = sizes.find((part) => part <= left && this.#count.get(char.repeat(part)));
      canClose = size !== undefined;
      if (canClose) {
        this.#close(char.repeat(size));
        left -= size;
      }
    }
    if (left === 0) return;
    const canOpen = !/\s/.test(after) && !inWord && this.#open.length <= maxDepth;
    if (canOpen) this.#enter(char.repeat(left));
    else this.#push(char.repeat(left), 0);
  }

  #openLink(text) {
    if (this.#open.length > maxDepth) return this.#push(text, text.length);
    this.#at += text.length;
    this.#enter("[", text);
  }

  #closeLink() {
    if (!this.#count.get("[")) return this.#push("]", 1);
    const address = match(linkEnd, this.#text, this.#at);
    const href = address && safeAddress(address[1]);
    while (this.#open.at(-1).mark !== "[") this.#giveUp();
    if (!href) {
      this.#giveUp();
      return this.#push("]", 1);
    }
    const { children } = this.#leave();
    this.#push({ type: "link", href, children: withoutLinks(children) }, address[0].length);
  }

  /** `hidden` characters surround the address on either side. */
  #bareLink(pattern, hidden) {
    if (/\w/.test(this.#text[this.#at - 1] ?? "")) return false;
    const found = match(pattern, this.#text, this.#at);
    if (!found) return false;
    const shown = hidden ? found[1] : withoutTrailing(found[0]);
    const href = safeAddress(shown);
    if (!href) return false;
    this.#push({ type: "link", href, children: [shown] }, shown.length + 2 * hidden);
    return true;
  }

  #push(node, length) {
    this.#at += length;
    const { children } = this.#open.at(-1);
    if (typeof node === "string" && typeof children.at(-1) === "string")
      children[children.length - 1] += node;
    else children.push(node);
  }

  #enter(mark, text = mark) {
    this.#open.push({ mark, text, children: [] });
    this.#count.set(mark, (this.#count.get(mark) ?? 0) + 1);
  }

  #leave() {
    const frame = this.#open.pop();
    this.#count.set(frame.mark, this.#count.get(frame.mark) - 1);
    return frame;
  }

  #close(mark) {
    while (this.#open.at(-1).mark !== mark) this.#giveUp();
    const { children } = this.#leave();
    if (mark === "~~") this.#push({ type: "strike", children }, 0);
    else if (mark.length < 3) this.#push({ type: emphasisByLength[mark.length], children }, 0);
    else this.#push({ type: "strong", children: [{ type: "emphasis", children }] }, 0);
  }

  /** The innermost mark was never closed, so it is text. */
  #giveUp() {
    const { text, children } = this.#leave();
    this.#push(text, 0);
    for (const child of children) this.#push(child, 0);
  }
}

function match(sticky, text, at) {
  sticky.lastIndex = at;
  return sticky.exec(text);
}

function runLength(text, at) {
  let end = at;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

/** Where runs of backticks begin, by their length, last one first. */
function backtickRuns(text) {
  const runs = new Map();
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].toReversed()) {
    if (runs.has(run.length)) runs.get(run.length).push(index);
    else runs.set(run.length, [index]);
  }
  return runs;
}

/** A bare address does not include the punctuation of the sentence around it. */
function withoutTrailing(address) {
  const unopened = address.split("(").length < address.split(")").length;
  const trailing = unopened ? ".,;:!?*_~)" : ".,;:!?*_~";
  let end = address.length;
  while (trailing.includes(address[end - 1])) end -= 1;
  return address.slice(0, end);
}

function withoutLinks(nodes) {
  return nodes.flatMap((node) => {
    if (typeof node === "string" || !node.children) return [node];
    const children = withoutLinks(node.children);
    return node.type === "link" ? children : [{ ...node, children }];
  });
}
