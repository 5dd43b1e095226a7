/** What stands in one line of a message, before it is written in Discord's dialect. */
export type Mark = "strike" | "underline" | "bold" | "italic";

export type Run =
  | { kind: "text"; text: string; marks: readonly Mark[] }
  | { kind: "code"; text: string; marks: readonly Mark[] }
  /** `label` is empty where the address itself is shown. */
  | { kind: "link"; href: string; label: readonly Run[]; marks: readonly Mark[] };

const delimiters: Record<Mark, string> = { strike: "~~", underline: "__", bold: "**", italic: "*" };
const order = ["strike", "underline", "bold", "italic"] as const satisfies readonly Mark[];

const zeroWidth = "\u200B";

/**
 * Writes a line so that Discord shows what it says: text as text, whatever it looks like, and marks whole in themselves.
 * The grammar of Discord is a list of patterns that are tried at each place, first among them an escape, which is a
 * backslash before any punctuation.
 * https://support.discord.com/hc/en-us/articles/210298617, https://github.com/discord/SimpleAST
 */
export function writeRuns(runs: readonly Run[]): string {
  return writeMarked(escapeTexts(runs), 0);
}

/** The line without any marks, as for a cell of a table. */
export function plainText(runs: readonly Run[]): string {
  return runs
    .map((run) => (run.kind === "link" ? nameLink(plainText(run.label), run.href) : run.text))
    .join("");
}

function nameLink(label: string, href: string): string {
  return label === "" || label === href ? href : `${label} (${href})`;
}

/** A piece of the line in Discord's dialect. `opaque`: what it says is not escaped, so a mark around it could end in it. */
interface Written {
  text: string;
  marks: readonly Mark[];
  opaque: boolean;
}

function escapeTexts(runs: readonly Run[]): Written[] {
  const whole = runs.map((run) => (run.kind === "text" ? run.text : "\0")).join("");
  const context: EscapeContext = {
    isMarked: runs.some(({ marks }) => marks.length > 0),
    hasTildes: whole.includes("~~") || runs.some(({ marks }) => marks.includes("strike")),
    hasBars: whole.includes("||"),
  };
  let isStart = true;
  let at = 0;
  return runs.map((run): Written => {
    const { marks } = run;
    const begins = isStart;
    const start = at;
    at += run.kind === "text" ? run.text.length : 1;
    if (run.kind !== "text" || run.text.trim() !== "") isStart = false;
    switch (run.kind) {
      case "text": {
        const text = escapeText(run.text, {
          ...context,
          before: whole[start - 1] ?? "",
          after: whole[at] ?? "",
        });
        return { text: begins ? escapeLineStart(text) : text, marks, opaque: false };
      }
      case "code":
        return { text: writeCode(run.text), marks, opaque: true };
      case "link":
        return { text: writeLink(run.href, run.label, whole[at] ?? ""), marks, opaque: true };
    }
  });
}

function writeMarked(pieces: readonly Written[], depth: number): string {
  const mark = order[depth];
  if (mark === undefined) return pieces.map(({ text }) => text).join("");
  let line = "";
  for (let at = 0; at < pieces.length; ) {
    const isMarked = pieces[at]?.marks.includes(mark) ?? false;
    let end = at + 1;
    while (end < pieces.length && (pieces[end]?.marks.includes(mark) ?? false) === isMarked) end += 1;
    const segment = pieces.slice(at, end);
    const inner = writeMarked(segment, depth + 1);
    const piece = isMarked ? delimit(inner, delimiters[mark], segment) : inner;
    // One more star behind the two that end bold text would keep them from ending it.
    line += /[*_~]$/.test(line) && piece[0] === line.at(-1) ? zeroWidth + piece : piece;
    at = end;
  }
  return line;
}

/** Discord knows no mark around blanks, and ends one at the first delimiter, even in code or in an address. */
function delimit(inner: string, delimiter: string, segment: readonly Written[]): string {
  const text = inner.trim();
  const start = inner.length - inner.trimStart().length;
  const isBroken = segment.some((piece) => piece.opaque && piece.text.includes(delimiter));
  if (text === "" || isBroken) return inner;
  // Struck text alone ends at an escaped tilde too, if another one follows.
  const end = delimiter === delimiters.strike && text.endsWith("~") ? zeroWidth + delimiter : delimiter;
  return inner.slice(0, start) + delimiter + text + end + inner.slice(start + text.length);
}

interface EscapeContext {
  isMarked: boolean;
  hasTildes: boolean;
  hasBars: boolean;
}

/** @param context with the characters around the text */
function escapeText(
  text: string,
  { isMarked, hasTildes, hasBars, before, after }: EscapeContext & { before: string; after: string },
): string {
  const isBlank = (character: string) => character === "" || /\s/.test(character);
  const needsEscape = (character: string, at: number): boolean => {
    const previous = text[at - 1] ?? before;
    const next = text[at + 1] ?? after;
    switch (character) {
      case "\\":
        return at + 1 === text.length || /[^0-9A-Za-z\s]/.test(next);
      case "*":
        return isMarked || !isBlank(previous) || !isBlank(next);
      case "~":
        return hasTildes;
      case "|":
        return hasBars;
      case "<":
      case "@":
        return addressed.test(text.slice(at, at + 9));
      default:
        // Even within a word, or without a link here: its end might stand in code further down.
        return true;
    }
  };
  return text.replaceAll(/[\\`*_~|[<@]/g, (character, at: number) =>
    needsEscape(character, at) ? `\\${character}` : character,
  );
}

/** Mentions, emoji, times and the like. https://docs.discord.com/developers/reference#message-formatting */
const addressed = /^(?:<(?:[@#/]|a?:|t:|id:|https?:)|@(?:everyone|here))/i;

/** What would begin a heading, small print, a quotation or an item of a list. */
function escapeLineStart(text: string): string {
  return text
    .replace(/^(\s*)(#{1,3}\s|-#\s|>|[-+*](?:\s|$))/, "$1\\$2")
    .replace(/^(\s*\d+)(\.(?:\s|$))/, "$1\\$2");
}

/** Discord ends code at the first run of as many backticks, and takes three for a block. */
function writeCode(code: string): string {
  const text = code
    .split("\n")
    .map((line) => line.trim())
    .join(" ");
  const runs = new Set(text.match(/`+/g)?.map(({ length }) => length));
  if (runs.size === 0) return `\`${text}\``;
  if (runs.size === 1 && runs.has(2)) return `\`${pad(text)}\``;
  // Only single ones are left then.
  const apart = text.replaceAll(/`{2,}/g, (run) => [...run].join(zeroWidth));
  return `\`\`${pad(apart)}\`\``;
}

function pad(code: string): string {
  return (code.startsWith("`") ? " " : "") + code + (code.endsWith("`") ? " " : "");
}

/** @param after the character behind the link, which Discord might take for the end of its address */
function writeLink(href: string, label: readonly Run[], after: string): string {
  const name = plainText(label).trim();
  if (!/^https?:\/\//i.test(href)) {
    const address = href.replace(/^mailto:/i, "");
    return writeRuns([{ kind: "text", text: nameLink(name, address), marks: [] }]);
  }
  const address = encodeAddress(href);
  const bare = /^[\s.,:;!?"')\]]?$/.test(after) ? address : `<${address}>`;
  if (name === "" || name === href) return bare;
  // Discord shows no link whose text is itself an address, for it may not be the same.
  if (/https?:\/\//i.test(name) || /[[\]]/.test(name)) return `${writeRuns(label)} (<${address}>)`;
  return `[${writeRuns(label).trim()}](${address})`;
}

/** Everything that could end an address in a link. */
function encodeAddress(href: string): string {
  return href.replaceAll(/[\s()<>[\]\\`]/g, (character) => {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0");
    return `%${code}`;
  });
}
