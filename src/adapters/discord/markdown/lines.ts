import type { Run } from "./runs.ts";

/** One line of a message. */
export type Line = TextLine | CodeLine;

export interface TextLine {
  kind: "text";
  /** Marks of quotations and lists before it, in Discord's dialect. */
  prefix: string;
  /** The same for what follows when the line is cut. */
  rest: string;
  runs: readonly Run[];
}

export interface CodeLine {
  kind: "code";
  /** The same for all lines of one block. */
  block: CodeBlock;
  text: string;
}

export interface CodeBlock {
  language: string;
  /** Lines that every part of it begins with, where it is cut. */
  head: readonly string[];
}

export const blankLine: TextLine = { kind: "text", prefix: "", rest: "", runs: [] };

export function isBlank(line: Line | undefined): boolean {
  return line?.kind === "text" && line.runs.length === 0 && line.prefix.trim() === "";
}

/** Discord takes no other names; a block that begins with one on its own line would lose it. */
function readLanguage(info: string): string {
  return /^[\w+\-.#]+/.exec(info.trim())?.[0] ?? "";
}

/** A block of code that Discord ends at its end: nothing in it is a run of three backticks. */
export function codeLines(text: string, info: string, headLines = 0): CodeLine[] {
  const inside = text.replace(/\n$/, "").replaceAll(/`{3,}/g, (run) => [...run].join("\u200B"));
  const lines = inside.split("\n");
  const block = { language: readLanguage(info), head: lines.slice(0, headLines) };
  return lines.map((line) => ({ kind: "code", block, text: line }));
}
