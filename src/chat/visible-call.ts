import { formatJson } from "../agent/text/format-json.ts";
import { type EscapedText, escapeHiddenAndBlank } from "../agent/text/hidden-characters.ts";
import type { ToolCall } from "../agent/messages.ts";

/**
 * Shows what a call says so that what people read is what runs: no character of it is hidden, and none ends the code
 * that it stands in. The dialects of the platforms agree on a block between three backticks and on code between two
 * single ones, and on nothing else, so backticks inside are shown as a look-alike.
 */
const lookAlike = "ˋ";

/** A call in the words of its author. */
export interface VisibleCall {
  /** Its command, or all that it is given. */
  text: string;
  /** What a command is given besides. */
  besides?: string;
  /** What people must know about the characters that are shown in another way; empty without any. */
  note: string;
}

/** @param mask applied first, since a secret is known by its own characters */
export function toVisibleCall({ name, input }: ToolCall, mask: (text: string) => string): VisibleCall {
  const given = (typeof input === "object" && input !== null ? input : {}) as Record<string, unknown>;
  const { command, ...all } = given;
  // Of a command it is what the model says about it, and must not stand where people judge the command itself.
  const { title: _title, ...besidesTitle } = all;
  const others = name === "bash" ? besidesTitle : all;
  const isCommand = typeof command === "string";
  const text = isCommand ? escapeHiddenAndBlank(mask(command)) : toVisibleJson(formatJson(input), mask);
  const hasOthers = isCommand && Object.keys(others).length > 0;
  const besides = hasOthers ? toVisibleJson(JSON.stringify(others), mask) : { text: "", count: 0 };
  const count = text.count + besides.count;
  const hasFence = `${text.text}\n${besides.text}`.includes("```");
  const note = [
    ...(count > 0
      ? [
          `⚠️ ${count} invisible ${count === 1 ? "character is shown as an escape" : "characters are shown as escapes"}.`,
        ]
      : []),
    ...(hasFence ? [`⚠️ Backticks in a row are shown as ${lookAlike.repeat(3)}.`] : []),
  ].join(" ");
  return { text: text.text, note, ...(hasOthers && { besides: besides.text }) };
}

/** JSON, which writes some hidden characters as escapes of its own. */
function toVisibleJson(json: string, mask: (text: string) => string): EscapedText {
  const escapes = [...json.matchAll(/\\(.)/g)].filter(([, kind = ""]) => "bfru".includes(kind));
  const count = escapes.length + escapeHiddenAndBlank(json).count;
  return { text: escapeHiddenAndBlank(mask(json)).text, count };
}

/** A block of code that its text cannot end. */
export function toCodeBlock(text: string, language = ""): string {
  const inside = text.toWellFormed().replaceAll(/`{3,}/g, (run) => lookAlike.repeat(run.length));
  return `\`\`\`${language}\n${inside}\n\`\`\``;
}

/** Code within a line that its text, of one line, cannot end; empty without text. */
export function toInlineCode(text: string): string {
  return text === "" ? "" : `\`${text.replaceAll("`", lookAlike)}\``;
}

/** The text with its middle left out, in two pieces; one that is short enough in one. */
export function cutMiddle(
  text: string,
  characters: number,
): { start: string; omitted: number; end: string } | undefined {
  if (text.length <= characters) return undefined;
  const end = text.slice(-Math.floor(characters / 3));
  const start = text.slice(0, characters - end.length);
  return { start, omitted: text.length - characters, end };
}
