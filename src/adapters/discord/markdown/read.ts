import createMarkdownIt, { type Env, type MarkdownIt, type Token } from "markdown-it";
import { readRawBlock } from "./html.ts";
import { readInline } from "./inline.ts";
import { blankLine, codeLines, isBlank, type Line } from "./lines.ts";
import { plainText, type Run } from "./runs.ts";
import { alignColumns, type Table } from "./table.ts";

/** Containers in each other that are still taken apart. What is nested deeper is shown as it is written. */
const maxDepth = 20;
const nestedDeeper = new RegExp(`^(?:[ \\t]*(?:>|[-+*]|\\d{1,9}[.)])(?=[ \\t>]|$)){${maxDepth + 1}}`, "m");
const ruleLine = "─".repeat(10);
/** The last heading that Discord knows. */
const deepestHeading = 3;

function createParser(): MarkdownIt {
  // Deeper nesting than this would be left out.
  const parser = createMarkdownIt({ html: true, linkify: true, maxNesting: 1_000 });
  // Only what Discord takes for an address too.
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
  parser.validateLink = () => true;
  return parser;
}

const parser = createParser();
/** Reads Markdown between the tags of a block of HTML, where models write it though CommonMark does not. */
const insideHtml = createParser().disable("html_block");

/** The lines that say on Discord what the CommonMark says, with tables, task lists and the HTML that people write. */
export function readMarkdown(markdown: string): Line[] {
  if (nestedDeeper.test(markdown)) return markdown.split("\n").map((line) => textLine(line));
  const env: Env = {};
  const reader = new BlockReader(env);
  reader.read(parser.parse(markdown, env));
  return reader.lines;
}

function textLine(text: string): Line {
  return { kind: "text", prefix: "", rest: "", runs: text === "" ? [] : [{ kind: "text", text, marks: [] }] };
}

/** The marks of one quotation or item of a list: those of its first line, and those of all others. */
interface Container {
  first: string;
  rest: string;
  isFirst: boolean;
}

class BlockReader {
  readonly lines: Line[] = [];
  readonly #env: Env;
  readonly #containers: Container[] = [];
  /** Numbers of the next items of the lists that are open; undefined for those without. */
  readonly #lists: (number | undefined)[] = [];
  /** The line of the source that the last block ended before. */
  #end = 0;
  #table: Table | undefined;

  constructor(env: Env) {
    this.#env = env;
  }

  read(tokens: readonly Token[]): void {
    for (let at = 0; at < tokens.length; at += 1) {
      const token = tokens[at];
      if (!token) continue;
      if (token.type === "inline" && !this.#table) this.#readText(token, tokens[at - 1]);
      else if (this.#table || token.type === "table_open") this.#readTable(token);
      else this.#readBlock(token);
    }
  }

  #readBlock(token: Token): void {
    const { type } = token;
    switch (type) {
      case "blockquote_open":
        this.#separate(token);
        this.#containers.push(this.#quote());
        return;
      case "bullet_list_open":
      case "ordered_list_open":
        this.#separate(token);
        this.#lists.push(type === "ordered_list_open" ? Number(token.attrGet("start") ?? 1) : undefined);
        return;
      case "list_item_open":
        this.#separate(token);
        this.#containers.push(this.#item());
        return;
      case "bullet_list_close":
      case "ordered_list_close":
        this.#lists.pop();
        return;
      case "list_item_close":
      case "blockquote_close":
        this.#closeContainer();
        return;
      case "hr":
        this.#separate(token);
        return this.#addText([{ kind: "text", text: ruleLine, marks: [] }], token);
      case "fence":
      case "code_block":
        return this.#addCode(token, token.content, token.info);
      case "html_block":
        return this.#readHtml(token);
    }
  }

  #readHtml(token: Token): void {
    const raw = readRawBlock(token.content);
    if (raw === "") return;
    if (raw !== undefined) return this.#addCode(token, raw, "");
    this.#separate(token);
    const inside = new BlockReader(this.#env);
    inside.read(insideHtml.parse(token.content, this.#env));
    for (const line of inside.lines) {
      if (line.kind === "code") this.lines.push(line);
      else this.#push(line.runs, line.prefix, line.rest);
    }
    this.#endAt(token);
  }

  #readText(token: Token, opening: Token | undefined): void {
    const isHeading = opening?.type === "heading_open";
    const level = isHeading ? Number(opening.tag.slice(1)) : 0;
    const block = isHeading ? opening : token;
    this.#separate(block);
    const lines = readInline(token.children ?? []).map((runs) => this.#readTask(runs));
    // A comment, for example, says nothing.
    if (lines.every((runs) => runs.length === 0)) return this.#endAt(block);
    if (!isHeading) for (const runs of lines) this.#push(runs);
    else if (level <= deepestHeading) this.#push(joinLines(lines), `${"#".repeat(level)} `);
    else
      this.#push(
        joinLines(lines).map((run) => ({ ...run, marks: [...new Set([...run.marks, "bold" as const])] })),
      );
    this.#endAt(block);
  }

  /** A box at the beginning of an item of a list. */
  #readTask(runs: Run[]): Run[] {
    const [first, ...others] = runs;
    const isItem = this.#lists.length > 0 && this.#containers.at(-1)?.isFirst === true;
    if (!isItem || first?.kind !== "text") return runs;
    const text = first.text.replace(/^\[( |x|X)\](?=\s|$)/, (_box, mark: string) =>
      mark === " " ? "☐" : "☑",
    );
    return [{ ...first, text }, ...others];
  }

  #readTable(token: Token): void {
    switch (token.type) {
      case "table_open":
        this.#separate(token);
        this.#table = { rows: [], align: [] };
        return;
      case "tr_open":
        this.#table?.rows.push([]);
        return;
      case "th_open": {
        const side = /right|center/.exec(String(token.attrGet("style") ?? ""))?.[0];
        this.#table?.align.push(side === "right" || side === "center" ? side : "left");
        return;
      }
      case "inline": {
        const text = readInline(token.children ?? [])
          .map(plainText)
          .join(" ");
        this.#table?.rows.at(-1)?.push(text);
        return;
      }
      case "table_close": {
        const table = this.#table;
        this.#table = undefined;
        if (table) this.#pushCode(codeLines(alignColumns(table), "", 2));
        return;
      }
    }
  }

  #addCode(token: Token, text: string, info: string): void {
    this.#separate(token);
    this.#pushCode(codeLines(text, info));
    this.#endAt(token);
  }

  /** Discord knows code in no quotation and no list, so its block stands on the left, between their lines. */
  #pushCode(lines: readonly Line[]): void {
    if (this.#containers.some(({ isFirst }) => isFirst)) this.#push([]);
    this.lines.push(...lines);
  }

  #addText(runs: readonly Run[], token: Token): void {
    this.#push(runs);
    this.#endAt(token);
  }

  /** A blank line where the source has one before that block. */
  #separate({ map }: Token): void {
    if (!map) return;
    const hasGap =
      map[0] > this.#end && this.lines.length > 0 && !this.#containers.some(({ isFirst }) => isFirst);
    this.#end = Math.max(this.#end, map[0]);
    if (!hasGap || isBlank(this.lines.at(-1))) return;
    const quoted = this.#containers.some(({ rest }) => rest.startsWith(">"));
    const prefix = quoted ? this.#containers.map(({ rest }) => rest).join("") : "";
    this.lines.push({ ...blankLine, prefix });
  }

  #endAt({ map }: Token): void {
    if (map) this.#end = Math.max(this.#end, map[1]);
  }

  #push(runs: readonly Run[], before = "", beforeRest = ""): void {
    const prefix = this.#containers.map((one) => (one.isFirst ? one.first : one.rest)).join("");
    const rest = this.#containers.map((one) => one.rest).join("");
    for (const container of this.#containers) container.isFirst = false;
    this.lines.push({ kind: "text", prefix: prefix + before, rest: rest + beforeRest, runs });
  }

  /** Discord knows no quotation in another one: the inner sign is shown as text. */
  #quote(): Container {
    const isInner = this.#containers.some(({ rest }) => rest.includes("> "));
    const sign = isInner ? "\\> " : "> ";
    return { first: sign, rest: sign, isFirst: true };
  }

  #item(): Container {
    const number = this.#lists.at(-1);
    if (number === undefined) return { first: "- ", rest: "  ", isFirst: true };
    this.#lists.splice(-1, 1, number + 1);
    const first = `${number}. `;
    return { first, rest: " ".repeat(first.length), isFirst: true };
  }

  #closeContainer(): void {
    // Nothing stood in it.
    if (this.#containers.at(-1)?.isFirst) this.#push([]);
    this.#containers.pop();
  }
}

function joinLines(lines: readonly Run[][]): Run[] {
  return lines.flatMap((runs, at) =>
    at === 0 ? runs : [{ kind: "text" as const, text: " ", marks: [] }, ...runs],
  );
}
