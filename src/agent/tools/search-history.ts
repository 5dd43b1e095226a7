import { z } from "zod";
import type { JournalRecord } from "../journal.ts";
import { textOf, toolCalls } from "../messages.ts";
import { defineTool } from "./tool.ts";

const shownEntries = 20;
const excerptCharacters = 240;

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
  async run({ query = "", before = Infinity, entry }, { history }) {
    if (!history) return { status: "error", text: "There is no history to search in this installation." };
    const entries = listEntries(await history());
    if (entry !== undefined) {
      const found = entries.find(({ number }) => number === entry);
      return found
        ? { status: "ok", text: `${formatHead(found)}\n${found.text}` }
        : { status: "error", text: `There is no entry ${entry}; take a number from a search.` };
    }
    const words = query.toLowerCase().split(/\s+/);
    const found = entries.filter(({ number, text }) => {
      const lower = text.toLowerCase();
      return number < before && words.every((word) => lower.includes(word));
    });
    if (found.length === 0) return { status: "ok", text: "Nothing matches; try fewer or other words." };
    const shown = found.slice(-shownEntries).toReversed();
    const lines = shown.map((match) => `${formatHead(match)} ${cutExcerpt(match.text, words[0] ?? "")}`);
    const left = found.length - shown.length;
    if (left > 0) lines.push(`[${left} older ones match too: search with before ${shown.at(-1)?.number}]`);
    return { status: "ok", text: lines.join("\n") };
  },
});

/** Without what no model is to see (withdrawn messages, refused turns), what Heddle itself added, and earlier searches. */
function listEntries(records: readonly JournalRecord[]): Entry[] {
  const withdrawn = new Set(records.flatMap((record) => (record.type === "withdrawn" ? [record.id] : [])));
  const refused = new Set(
    records.flatMap((record) =>
      record.type === "turn-end" && record.outcome.kind === "refused" ? [record.turn] : [],
    ),
  );
  let turn = "";
  return records.flatMap((record, index): Entry[] => {
    if (record.type === "turn-start") ({ turn } = record);
    if (refused.has(turn)) return [];
    const entry = (at: number, text: string): Entry[] => (text ? [{ number: index + 1, at, text }] : []);
    switch (record.type) {
      case "user": {
        const { id, author, text, at } = record.message;
        return withdrawn.has(id) ? [] : entry(at, `${author.name}: ${text}`);
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
        return name === searchHistory.name ? [] : entry(record.at, `result of ${name} (${status}): ${text}`);
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
        return [];
    }
  });
}

function formatHead({ number, at }: Entry): string {
  return `#${number} ${new Date(at).toISOString().slice(0, 16).replace("T", " ")}`;
}

/** One line around the first place where the word stands. */
function cutExcerpt(text: string, word: string): string {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - Math.floor(excerptCharacters / 3));
  const piece = text
    .slice(at, at + excerptCharacters)
    .toWellFormed()
    .replace(/\s+/g, " ");
  return `${at > 0 ? "…" : ""}${piece}${at + excerptCharacters < text.length ? "…" : ""}`;
}
