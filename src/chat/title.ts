import { cutText } from "../agent/well-formed.ts";

/** So much of a text is looked through, and of a line read, in characters. */
const lookedAt = 2_000;
const lineChars = 500;

/** What begins a line and is no word: headings, quotations, points of a list, Discord's small print. */
const lineStart = /^(?:(?:#{1,6}|[-*+]|-#|\[[ xX]\])(?:\s+|$)|>\s*)+/;

/** A line that is nothing but Markdown: a fence, a rule. */
const wordless = /^(?:(?:`{3,}|~{3,}).*|[-*_=\s]{3,})$/;

/**
 * Code; a link or picture; an address or a mention in brackets; emphasis. What only looks like emphasis stays:
 * `2 * 3`, `snake_case`, `*.ts`, `__init__.py`.
 */
const inline = new RegExp(
  [
    /(?<tick>`{1,3})(?<code>[^`]+)\k<tick>/,
    /!?\[(?<label>[^[\]]*)\]\((?:[^()]|\([^()]*\))*\)/,
    /<(?<address>https?:\/\/[^<>\s]+)>|<(?<sign>[@#])[!&]?(?<id>\w+)>/,
    /(?<![\w*_])(?<mark>\*{1,3}(?!\*)|_{1,3}(?!_)|~~|\|\|)(?=\S)(?<marked>.*?\S)\k<mark>(?![\w*_]|\.\w)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);

/**
 * What a thread is called: the first line of its first message that says something, as plain text, at most `chars`
 * long. Empty where none does.
 */
export function makeTitle(markdown: string, chars: number): string {
  for (const line of markdown.slice(0, lookedAt).split("\n")) {
    const words = line.slice(0, lineChars).trim();
    const title = wordless.test(words) ? "" : withoutMarks(words.replace(lineStart, "")).trim();
    if (title !== "") return cutText(title, chars).toWellFormed();
  }
  return "";
}

function withoutMarks(text: string): string {
  return text.replace(inline, (...match) => {
    // The last argument of a replacer is the named groups, and there are some.
    const groups = match.at(-1) as Partial<Record<string, string>>;
    const { code, label, address, sign = "", id = "", marked } = groups;
    return code ?? address ?? withoutMarks(label ?? marked ?? sign + id);
  });
}
