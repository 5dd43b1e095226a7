import { datePattern, figurePattern, kinds } from "./patterns.mts";

/** What a transcript holds: numbers are those of its lines. */
export interface Candidates {
  /** How often each person spoke. */
  spoken: Map<string, number>;
  /** For each of the kinds. */
  found: number[][];
  /** Each with the first line that holds it. */
  dates: Map<string, number>;
  figures: Map<string, number>;
}

/** @param lines from 1 on, so that an index is a line number */
export function findCandidates(lines: readonly string[]): Candidates {
  const found: number[][] = kinds.map(() => []);
  const spoken = new Map<string, number>();
  const dates = new Map<string, number>();
  const figures = new Map<string, number>();
  let speaker: string | undefined;
  for (const [number, line] of lines.entries()) {
    if (number === 0 || !/\S/.test(line) || isFrame(line)) continue;
    const { name, text } = splitSpeaker(line);
    speaker = name ?? speaker;
    if (speaker !== undefined) spoken.set(speaker, (spoken.get(speaker) ?? 0) + 1);
    if (!/\S/.test(text)) continue;
    for (const [index, { pattern }] of kinds.entries()) {
      if (pattern.test(text)) found[index]?.push(number);
    }
    for (const [date] of text.matchAll(datePattern)) noteFirst(dates, date.toLowerCase(), number);
    for (const [figure] of text.matchAll(figurePattern)) noteFirst(figures, figure, number);
  }
  return { spoken, found, dates, figures };
}

function noteFirst(places: Map<string, number>, text: string, number: number): void {
  if (!places.has(text)) places.set(text, number);
}

/** Numbers, times and headers of caption files. */
function isFrame(line: string): boolean {
  return /^\s*(?:WEBVTT.*|\d+|NOTE\b.*|(?:\d\d:)?\d\d:\d\d[.,]\d{3} -->.*)$/s.test(line);
}

const clock = String.raw`[\[(]?\d{1,2}:\d\d(?::\d\d)?(?:\s?[AaPp][Mm])?[\])]?`;
const person = String.raw`[\p{Lu}@][\p{L}\p{N}.'_\-]*(?: [\p{Lu}][\p{L}.'\-]*){0,3}`;
const captionForm = /^\s*<v(?:\.\w+)? ([^>]+)>(.*?)(?:<\/v>)?$/s;
/** The message follows on the next lines. */
const headingForm = new RegExp(String.raw`^\s*(${person})\s+${clock}\s*$`, "u");
const messageForm = new RegExp(
  String.raw`^\s*(?:${clock}\s*[\-–]?\s*)?(${person})\s*(?:${clock})?\s*:\s+(.*)$`,
  "su",
);
const label =
  /^(?:Action|Actions|Decision|Decisions|Todo|TODO|Note|Notes|Question|Agenda|Summary|Present|Date|Owner|AI|Task|Risk|Http|Https)$/;

function splitSpeaker(line: string): { name: string | undefined; text: string } {
  const [, captioned, caption] = captionForm.exec(line) ?? [];
  if (captioned !== undefined) return { name: captioned, text: caption ?? "" };
  const headed = headingForm.exec(line)?.[1];
  if (headed !== undefined) return { name: headed, text: "" };
  const [, name, text] = messageForm.exec(line) ?? [];
  if (name !== undefined && !label.test(name)) return { name, text: text ?? "" };
  return { name: undefined, text: line };
}
