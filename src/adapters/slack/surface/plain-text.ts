import { stripMarks } from "../../../chat/title.ts";

/**
 * A fence or a rule: no word in it. Read without the blanks before it. A line may be as long as an answer, so no pattern
 * may try several ends for one of its parts and then go on.
 */
const wordless = /^(?:`{3}|~{3}|[-*_=][-*_=\s]{2,}$)/;
/** With three dashes, the line under the head of a table. */
const tableRule = /^[\s:|-]*$/;
const heading = /^\s*(?:>\s*)*#{1,6}\s+/;
const quotation = /^\s*(?:>\s*)+/;
const point = /^(\s*)[-*+]\s+(?:\[[ xX]\]\s+)?/;
const row = /^\s*\|(.*)\|\s*$/;

/** The words of a Markdown text, for a notification or a screen reader, which draw none of it. */
export function toPlainText(markdown: string): string {
  const lines = markdown.split("\n").flatMap((line) => {
    if (isWordless(line)) return [];
    const [, cells] = row.exec(line) ?? [];
    const text =
      cells === undefined
        ? line
        : cells
            .split("|")
            .map((cell) => cell.trim())
            .join(", ");
    const words = text.replace(heading, "").replace(quotation, "").replace(point, "$1• ");
    return [stripMarks(words).replaceAll("`", "").trimEnd()];
  });
  return lines
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}

function isWordless(line: string): boolean {
  return wordless.test(line.trimStart()) || (tableRule.test(line) && line.includes("---"));
}
