import { truncate } from "../context/truncate.ts";
import { decodeText, encodeText, toLf } from "./file-text.ts";

export interface Edit {
  old_text: string;
  new_text: string;
  replace_all: boolean;
}

type Edited = { ok: true; data: Uint8Array; diff: string } | { ok: false; problem: string };

interface Span {
  start: number;
  end: number;
  replacement: string;
  /** Which edit it belongs to, from 1. */
  edit: number;
}

/** How much of a diff the model needs to see that it got what it wanted. */
const diffLimits = { lines: 80, size: 8_000 };

/**
 * Makes all edits in a file's content or none. Every edit is looked for in the original, so none can change what
 * another one made. Whatever no edit touches stays byte for byte, a byte order mark included. Where all lines
 * end in CRLF, edits may be written with LF and get CRLF.
 */
export function applyEdits(content: Uint8Array, edits: readonly Edit[]): Edited {
  const decoded = decodeText(content);
  if (decoded === undefined) return { ok: false, problem: "this is not UTF-8 text; use bash to change it." };
  const { text, crlf } = decoded;

  const spans: Span[] = [];
  for (const [index, edit] of edits.entries()) {
    const wanted = crlf ? { ...edit, old_text: toLf(edit.old_text), new_text: toLf(edit.new_text) } : edit;
    const found = find(text, wanted, index + 1);
    if (typeof found === "string") return { ok: false, problem: `edit ${index + 1}: ${found}` };
    spans.push(...found);
  }
  spans.sort((a, b) => a.start - b.start);
  for (const [index, span] of spans.entries()) {
    const next = spans[index + 1];
    if (next && next.start < span.end) {
      const line = countLine(text, next.start);
      return {
        ok: false,
        problem: `edits ${span.edit} and ${next.edit} overlap at line ${line}; merge them into one.`,
      };
    }
  }
  const result = splice(text, spans, 0, text.length);
  return {
    ok: true,
    data: encodeText(result, crlf),
    diff: diff(text, spans),
  };
}

/** The places that an edit replaces, or what is wrong with it. */
function find(text: string, { old_text, new_text, replace_all }: Edit, edit: number): Span[] | string {
  if (old_text === "") return "old_text is empty; give the text to replace.";
  if (old_text === new_text) return "old_text and new_text are the same; nothing would change.";
  const starts: number[] = [];
  // Overlapping matches count as well, except where all are replaced: any of them could be meant.
  const step = replace_all ? old_text.length : 1;
  for (let at = text.indexOf(old_text); at >= 0; at = text.indexOf(old_text, at + step)) starts.push(at);
  if (starts.length === 0)
    return "old_text does not occur in the file; read it again and copy the text exactly.";
  if (starts.length > 1 && !replace_all) {
    const lines = starts.slice(0, 20).map((start) => countLine(text, start));
    const where = `${starts.length} matches at lines ${lines.join(", ")}${starts.length > 20 ? ", …" : ""}`;
    return `old_text has ${where}; add surrounding text to choose one, or set replace_all.`;
  }
  return starts.map((start) => ({ start, end: start + old_text.length, replacement: new_text, edit }));
}

/** `text` from `from` to `to` with the spans in it replaced. */
function splice(text: string, spans: readonly Span[], from: number, to: number): string {
  let result = "";
  let at = from;
  for (const { start, end, replacement } of spans) {
    result += text.slice(at, start) + replacement;
    at = end;
  }
  return result + text.slice(at, to);
}

/** The changed lines, neighbouring spans together, unchanged lines around them as context. */
function diff(text: string, spans: readonly Span[]): string {
  const hunks: { from: number; to: number; spans: Span[] }[] = [];
  for (const span of spans) {
    const from = text.lastIndexOf("\n", span.start - 1) + 1;
    const next = text.indexOf("\n", span.end);
    const to = next < 0 ? text.length : next + 1;
    const last = hunks.at(-1);
    if (last && from < last.to) {
      last.to = Math.max(last.to, to);
      last.spans.push(span);
    } else {
      hunks.push({ from, to, spans: [span] });
    }
  }
  const shown = hunks.map(({ from, to, spans: inside }) => {
    const lines = compare(splitLines(text.slice(from, to)), splitLines(splice(text, inside, from, to)));
    return [`@@ line ${countLine(text, from)} @@`, ...lines].join("\n");
  });
  return truncate(shown.join("\n"), diffLimits, { keep: "head" });
}

function compare(before: string[], after: string[]): string[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  return [
    ...before.slice(0, head).map((line) => ` ${line}`),
    ...before.slice(head, before.length - tail).map((line) => `-${line}`),
    ...after.slice(head, after.length - tail).map((line) => `+${line}`),
    ...before.slice(before.length - tail).map((line) => ` ${line}`),
  ];
}

function splitLines(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function countLine(text: string, at: number): number {
  return text.slice(0, at).split("\n").length;
}
