import { z } from "zod";
import type { Note } from "./notes.ts";
import { defineTool } from "./tool.ts";

export const recordNote = defineTool({
  name: "record_note",
  description:
    "Keep one fact for later turns: a preference, a decision, where something is. One fact a note. No secrets.",
  input: z.object({
    content: z.string().trim().min(1).max(2_000).describe("The fact, understandable on its own"),
    category: z
      .string()
      .trim()
      .min(1)
      .max(64)
      .default("general")
      .describe('For example "user_preference", "project_info" or "decision"'),
  }),
  effect: "write",
  async run({ content, category }, { notes }) {
    const note = await notes.add({ category, text: content });
    return { status: "ok", text: `Recorded note ${note.id} in "${category}".` };
  },
});

export const recallNotes = defineTool({
  name: "recall_notes",
  description:
    "Read the notes that were recorded, all of them or those of a category or with some words in them.",
  input: z.object({
    category: z.string().optional(),
    query: z.string().optional().describe("Words that a note must all contain, in any order and case"),
  }),
  effect: "read",
  async run({ category, query = "" }, { notes }) {
    const all = await notes.list();
    if (all.length === 0) return { status: "ok", text: "There are no notes yet." };
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter(
      (note) =>
        (category === undefined || note.category === category) &&
        words.every((word) => note.text.toLowerCase().includes(word)),
    );
    if (found.length > 0) return { status: "ok", text: found.map(line).join("\n") };
    const categories = [...new Set(all.map((note) => note.category))].join(", ");
    return { status: "ok", text: `No note matches. There are ${all.length} notes, in: ${categories}.` };
  },
});

export const forgetNote = defineTool({
  name: "forget_note",
  description:
    "Remove a note that is wrong, outdated or no longer wanted, by the id that recall_notes shows.",
  input: z.object({ id: z.string() }),
  effect: "write",
  async run({ id }, { notes }) {
    if (await notes.remove(id)) return { status: "ok", text: `Note ${id} is removed.` };
    return { status: "error", text: `There is no note with this id; recall_notes shows the ids.` };
  },
});

function line({ id, category, text, author, at }: Note): string {
  const day = new Date(at).toISOString().slice(0, 10);
  return `${id} [${category}] ${text} (${author ? `${author}, ` : ""}${day})`;
}
