import { readMarkdown } from "../../adapters/discord/markdown/read.ts";
import type { Mark, Run } from "../../adapters/discord/markdown/runs.ts";

/** Control sequences of ECMA-48 (SGR) that begin and end a style. */
const styles: Record<Mark, readonly [on: number, off: number]> = {
  bold: [1, 22],
  italic: [3, 23],
  underline: [4, 24],
  strike: [9, 29],
};
const cyan = [36, 39] as const;

function style(text: string, [on, off]: readonly [number, number]): string {
  return text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`;
}

/** Markdown as a terminal shows it: emphasis, lists, quotations, code and tables. The text must hold no control characters. */
export function renderMarkdown(markdown: string): string {
  return readMarkdown(markdown)
    .map((line) => {
      if (line.kind === "code") return `  ${style(line.text, cyan)}`;
      const heading = /#{1,3} $/.exec(line.prefix)?.[0] ?? "";
      const prefix = line.prefix
        .slice(0, line.prefix.length - heading.length)
        .replaceAll("> ", "│ ")
        .replace(/[-*] $/, "• ");
      const text = line.runs.map(renderRun).join("");
      return `${prefix}${heading ? style(text, styles.bold) : text}`;
    })
    .join("\n");
}

function renderRun(run: Run): string {
  switch (run.kind) {
    case "text":
      return mark(run.text, run.marks);
    case "code":
      return mark(style(run.text, cyan), run.marks);
    case "link": {
      const label = run.label.map(renderRun).join("");
      // A conversation of the console's page, whose addresses lead nowhere here.
      const thread = /^#\/t\/(\w+)$/.exec(run.href)?.[1];
      const href = thread === undefined ? run.href : `heddle run --thread ${thread}`;
      const shown = label === "" || label === href ? href : `${label} (${href})`;
      return mark(shown, run.marks);
    }
  }
}

function mark(text: string, marks: readonly Mark[]): string {
  return marks.reduce((marked, name) => style(marked, styles[name]), text);
}
