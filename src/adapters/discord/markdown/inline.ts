import type { Token } from "markdown-it";
import { readTag } from "./html.ts";
import type { Mark, Run } from "./runs.ts";

/** Reads what stands in a paragraph, line by line: a break of CommonMark or of HTML ends a line. */
export function readInline(tokens: readonly Token[]): Run[][] {
  const reader = new InlineReader();
  for (let at = 0; at < tokens.length; at += 1) {
    const name = readUnderscoredName(tokens, at);
    if (name !== undefined) {
      reader.addText(name);
      at += 2;
      continue;
    }
    const token = tokens[at];
    if (token) reader.read(token);
  }
  return reader.lines();
}

/** Two underscores around one word are a name, as of Python's methods. CommonMark takes them for bold text. */
function readUnderscoredName(tokens: readonly Token[], at: number): string | undefined {
  const [open, word, close] = tokens.slice(at, at + 3);
  const isStrong = open?.type === "strong_open" && open.markup === "__" && close?.type === "strong_close";
  return isStrong && word?.type === "text" && /^\w+$/.test(word.content) ? `__${word.content}__` : undefined;
}

const marksOfTokens: Record<string, Mark> = { strong: "bold", em: "italic", s: "strike" };

class InlineReader {
  readonly #lines: Run[][] = [[]];
  /** Marks that are open, by the name of their tag, the innermost last. */
  readonly #open: { name: string; mark: Mark }[] = [];
  #link: { href: string; label: Run[]; marks: Mark[] } | undefined;
  /** Text between tags of code. */
  #code: string | undefined;

  lines(): Run[][] {
    this.#closeLink();
    this.#closeCode();
    const lines = this.#lines.map(trimLine);
    while (lines.length > 1 && lines.at(-1)?.length === 0) lines.pop();
    return lines;
  }

  read(token: Token): void {
    const [, kind = "", what] = /^(strong|em|s|link)_(open|close)$/.exec(token.type) ?? [];
    if (kind === "link")
      return what === "open" ? this.#openLink(String(token.attrGet("href") ?? "")) : this.#closeLink();
    const mark = marksOfTokens[kind];
    if (mark) return what === "open" ? this.#openMark(kind, mark) : this.#closeMark(kind);
    switch (token.type) {
      case "code_inline":
        return this.#add({ kind: "code", text: token.content, marks: this.#marks() });
      case "softbreak":
      case "hardbreak":
        return this.#break();
      case "image":
        return this.#addImage(token);
      case "html_inline":
        return this.#readHtml(token.content);
      default:
        return this.addText(token.content);
    }
  }

  #addImage(token: Token): void {
    const label = readInline(token.children ?? []).flat();
    this.#addLink(
      String(token.attrGet("src") ?? ""),
      label.length > 0 ? label : [{ kind: "text", text: "image", marks: [] }],
    );
  }

  #readHtml(html: string): void {
    const tag = readTag(html);
    switch (tag.kind) {
      case "break":
        return this.#break();
      case "block":
        return this.#startLine();
      case "heading":
        this.#startLine();
        return tag.closes ? this.#closeMark(tag.name) : this.#openMark(tag.name, "bold");
      case "mark":
        return tag.closes ? this.#closeMark(tag.name) : this.#openMark(tag.name, tag.mark);
      case "code":
        return tag.closes ? this.#closeCode() : this.#openCode();
      case "link":
        return tag.closes ? this.#closeLink() : this.#openLink(tag.href);
      case "image":
        return this.#addLink(tag.src, [{ kind: "text", text: tag.alt || "image", marks: [] }]);
      case "text":
        return this.addText(tag.text);
    }
  }

  #marks(): Mark[] {
    return [...new Set(this.#open.map(({ mark }) => mark))];
  }

  #add(run: Run): void {
    if (this.#code !== undefined && run.kind !== "link") this.#code += run.text;
    else if (this.#link && run.kind !== "link") this.#link.label.push(run);
    else this.#lines.at(-1)?.push(run);
  }

  addText(text: string): void {
    if (text !== "") this.#add({ kind: "text", text, marks: this.#marks() });
  }

  #addLink(href: string, label: readonly Run[], marks = this.#marks()): void {
    if (this.#link) this.#link.label.push(...label);
    else this.#add({ kind: "link", href, label, marks });
  }

  #openLink(href: string): void {
    this.#closeLink();
    this.#link = { href, label: [], marks: this.#marks() };
  }

  #closeLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (!link) return;
    const { href, label, marks } = link;
    const within = label.map((run) => ({ ...run, marks: run.marks.filter((mark) => !marks.includes(mark)) }));
    this.#addLink(href, within, marks);
  }

  #openCode(): void {
    this.#code ??= "";
  }

  #closeCode(): void {
    const text = this.#code ?? "";
    this.#code = undefined;
    if (text !== "") this.#add({ kind: "code", text, marks: this.#marks() });
  }

  #openMark(name: string, mark: Mark): void {
    this.#open.push({ name, mark });
  }

  #closeMark(name: string): void {
    const at = this.#open.findLastIndex((open) => open.name === name);
    if (at >= 0) this.#open.splice(at, 1);
  }

  #break(): void {
    if (this.#link) this.addText(" ");
    else this.#lines.push([]);
  }

  /** Begins a line, unless nothing stands in it yet. */
  #startLine(): void {
    if (trimLine(this.#lines.at(-1) ?? []).length > 0) this.#break();
  }
}

/** The line without blanks at its ends. */
function trimLine(runs: readonly Run[]): Run[] {
  const line = runs.filter((run) => run.kind !== "text" || run.text !== "");
  for (let first = line[0]; first?.kind === "text"; first = line[0]) {
    const text = first.text.trimStart();
    if (text === first.text) break;
    line.splice(0, 1, ...(text === "" ? [] : [{ ...first, text }]));
  }
  for (let last = line.at(-1); last?.kind === "text"; last = line.at(-1)) {
    const text = last.text.trimEnd();
    if (text === last.text) break;
    line.splice(-1, 1, ...(text === "" ? [] : [{ ...last, text }]));
  }
  return line;
}
