import { stripMarks } from "../../../chat/title.ts";

/** A fence, a rule, or the line under the head of a table: no word in it. */
const wordless = /^\s*(?:(?:`{3,}|~{3,}).*|[-*_=][-*_=\s]{2,}|\|?[\s:|-]*-{3,}[\s:|-]*\|?)\s*$/;
const heading = /^\s*(?:>\s*)*#{1,6}\s+/;
const quotation = /^\s*(?:>\s*)+/;
const point = /^(\s*)[-*+]\s+(?:\[[ xX]\]\s+)?/;
const row = /^\s*\|(.*)\|\s*$/;

/** The words of a Markdown text, for a notification or a screen reader, which draw none of it. */
export function toPlainText(markdown: string): string {
  const lines = markdown.split("\n").flatMap((line) => {
    if (wordless.test(line)) return [];
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
