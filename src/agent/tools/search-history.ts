import { z } from "zod";
import type { JournalReader, JournalRecord } from "../journal/journal.ts";
import { textOf, toolCalls } from "../messages.ts";
import { foldText } from "../text/text.ts";
import { defineTool } from "./tool.ts";

const shownEntries = 20;
const excerptCharacters = 240;
/** A long journal is looked through for so long, and then the model is told how to go on. */
const searchMs = 5_000;

/** One thing that was said or done. */
interface Entry {
  /** Its place in the journal, from 1: the same for ever, since a journal only grows. */
  number: number;
  at: number;
  text: string;
}

/** The journal keeps everything; compaction only takes it out of the model's view. */
export const searchHistory = defineTool({
  name: "search_history",
  description:
    "Search everything that was said and done in this thread, also what is summarised or cut by now: messages, " +
    "answers, tool calls and results. A search gives numbered excerpts, newest first; entry shows one whole.",
  input: z
    .object({
      query: z
        .string()
        .trim()
        .min(1)
        .optional()
        .describe("Words that an entry must all contain, in any order and case"),
      before: z
        .number()
        .int()
        .min(1)
        .optional()
        .describe("Only entries with a smaller number: the next page"),
      entry: z.number().int().min(1).optional().describe("Show this entry whole"),
    })
    .refine(({ query, entry }) => (query === undefined) !== (entry === undefined), {
      message: "give either query or entry",
    }),
  effect: "read",
  async run({ query = "", before = Infinity, entry }, { history, now, signal }) {
    if (!history) return { status: "error", text: "There is no history to search in this installation." };
    const deadline = now() + searchMs;
    const isLate = () => signal.aborted || now() >= deadline;
    if (entry !== undefined) {
      const found = await readEntry(history, entry, isLate);
      return found
        ? { status: "ok", text: `${formatHead(found)}\n${found.text}` }
        : { status: "error", text: `There is no entry ${entry}; take a number from a search.` };
    }
    const words = foldText(query).split(/\s+/);
    const { lines, more } = await findEntries(history, words, before, isLate);
    if (lines.length === 0 && !more) lines.push("Nothing matches; try fewer or other words.");
    return { status: "ok", text: [...lines, ...(more ? [more] : [])].join("\n") };
  },
});

/** A line for each of the newest entries that match, and what is to be said about older ones. */
async function findEntries(
  history: JournalReader,
  words: readonly string[],
  before: number,
  isLate: () => boolean,
): Promise<{ lines: string[]; more?: string }> {
  const lines: string[] = [];
  let last = before;
  const behind = Number.isFinite(before)
    ? await lookBehind(history, before - 1, isLate)
    : createEmptyBehind();
  for await (const { records, from } of history.backward(before - 1)) {
    for (const [index, record] of [...records.entries()].toReversed()) {
      const found = toEntry(record, from + index + 1, behind);
      if (!found || !matches(found, words)) continue;
      if (lines.length === shownEntries)
        return { lines, more: `[Older ones match too: search with before ${last}]` };
      last = found.number;
      lines.push(`${formatHead(found)} ${cutExcerpt(found.text, words[0] ?? "")}`);
    }
    if (from > 0 && isLate())
      return {
        lines,
        more: `[Not searched: what is before #${from + 1}. To go on, search with before ${from + 1}]`,
      };
  }
  return { lines };
}

function matches({ text }: Entry, words: readonly string[]): boolean {
  const lower = foldText(text);
  return words.every((word) => lower.includes(word));
}

async function readEntry(
  history: JournalReader,
  number: number,
  isLate: () => boolean,
): Promise<Entry | undefined> {
  for await (const { records } of history.forward(number - 1)) {
    const [record] = records;
    if (!record) return undefined;
    const behind = await lookBehind(history, number, isLate);
    const found = toEntry(record, number, behind);
    const beside = record.type === "user" ? behind.beside.get(record.message.id) : undefined;
    return found && beside ? { ...found, text: `${found.text}\n\n${beside}` } : found;
  }
  return undefined;
}

/** What records say of those before them. */
interface Behind {
  /** Ids of messages that were taken back. */
  withdrawn: Set<string>;
  /** What came with messages, by their ids. */
  beside: Map<string, string>;
  /** Whether they belong to a turn that the service has refused. */
  isRefused: boolean;
}

function createEmptyBehind(): Behind {
  return { withdrawn: new Set(), beside: new Map(), isRefused: false };
}

/** What the records from that position on say of those before it: those of the turn that it lies in. */
async function lookBehind(history: JournalReader, from: number, isLate: () => boolean): Promise<Behind> {
  const behind = createEmptyBehind();
  for await (const { records } of history.forward(from)) {
    for (const record of records) {
      noteBehind(behind, record);
      if (record.type === "enclosure") behind.beside.set(record.message, record.beside);
      if (record.type === "turn-start" || record.type === "turn-end") return behind;
    }
    if (isLate()) break;
  }
  return behind;
}

function noteBehind(behind: Behind, record: JournalRecord): void {
  if (record.type === "withdrawn") behind.withdrawn.add(record.id);
  if (record.type === "turn-start") behind.isRefused = false;
  if (record.type === "turn-end") behind.isRefused = record.outcome.kind === "refused";
}

/**
 * Undefined for what no model is to see (withdrawn messages, refused turns), what Heddle itself added, and earlier
 * searches.
 *
 * @param behind what the later records say; it is told what this one says
 */
function toEntry(record: JournalRecord, number: number, behind: Behind): Entry | undefined {
  noteBehind(behind, record);
  if (behind.isRefused) return undefined;
  const entry = (at: number, text: string) => (text ? { number, at, text } : undefined);
  switch (record.type) {
    case "user": {
      const { id, author, text, at } = record.message;
      // It stands right before the record that takes it back.
      return behind.withdrawn.delete(id) ? undefined : entry(at, `${author.name}: ${text}`);
    }
    case "enclosure":
      return entry(record.at, record.beside);
    case "assistant": {
      const calls = toolCalls(record.message)
        .filter(({ name }) => name !== searchHistory.name)
        .map(({ name, input }) => `call of ${name}: ${JSON.stringify(input)}`);
      return entry(record.at, [textOf(record.message).trim(), ...calls].filter(Boolean).join("\n"));
    }
    case "tool-result": {
      const { name, status, text } = record.message;
      return name === searchHistory.name
        ? undefined
        : entry(record.at, `result of ${name} (${status}): ${text}`);
    }
    case "turn-start":
    case "withdrawn":
    case "nudge":
    case "tool-start":
    case "question":
    case "decision":
    case "trim":
    case "summary":
    case "turn-end":
    case "unreadable":
      return undefined;
  }
}

function formatHead({ number, at }: Entry): string {
  return `#${number} ${new Date(at).toISOString().slice(0, 16).replace("T", " ")}`;
}

/** One line around the first place where the word stands. */
function cutExcerpt(whole: string, word: string): string {
  const text = whole.normalize();
  const at = Math.max(0, foldText(text).indexOf(word) - Math.floor(excerptCharacters / 3));
  const piece = text
    .slice(at, at + excerptCharacters)
    .toWellFormed()
    .replace(/\s+/g, " ");
  return `${at > 0 ? "…" : ""}${piece}${at + excerptCharacters < text.length ? "…" : ""}`;
}
