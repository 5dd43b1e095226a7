import { cutSigns } from "../agent/text/text.ts";

/** ECMA-48: `ESC [` with parameters, `ESC ]` up to its end, other sequences of an escape, also one that is cut at the end. */
const sequence = new RegExp(
  [
    String.raw`(?:\x1b\[|\x9b)[0-?]{0,60}[ -/]{0,4}(?:[@-~]|$)`,
    String.raw`(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]{0,2000}(?:\x07|\x1b\\|\x9c|$)`,
    String.raw`\x1b[ -/]{0,4}[0-~]?`,
  ].join("|"),
  "g",
);

/** What has no shape in a chat; tab, line feed and carriage return do. */
const shapeless = /[\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F]/g; // oxlint-disable-line no-control-regex -- these are what is removed

/**
 * What a command has printed as plain text, for platforms that know no terminal: no colours and cursor movements, and of
 * what a carriage return overwrites (a progress bar) the last state. The time is linear in the length of the text.
 *
 * @example
 * toPlainOutput("\u001b[32mok\u001b[0m 10 %\r\u001b[Kok 100 %\n"); // → "ok 100 %\n"
 */
export function toPlainOutput(text: string): string {
  return text
    .replaceAll(sequence, "")
    .split("\n")
    .map((line) => takeLastState(line).replaceAll(shapeless, ""))
    .join("\n");
}

function takeLastState(line: string): string {
  // At the end of a line it belongs to the line break, or nothing has been written over the line yet.
  const states = cutSigns(line, "\r");
  return states.slice(states.lastIndexOf("\r") + 1);
}
