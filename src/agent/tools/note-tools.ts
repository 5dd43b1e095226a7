import { z } from "zod";
import { type Note, noteScopes } from "../contracts/note-store.ts";
import { cutText, foldText } from "../text/text.ts";
import { defineTool, type ToolResult } from "./tool.ts";

/** A scope with more is no memory any more: the agent tidies up instead. */
const notesPerScope = 200;

const contentField = z
  .string()
  .trim()
  .min(1)
  .max(2_000)
  .describe("The fact, understandable on its own, without secrets");
const categoryField = z.string().trim().min(1).max(64);
const scopeField = z.enum(noteScopes);

export const recordNote = defineTool({
  name: "record_note",
  description:
    "Keep one fact for later turns: a preference, a decision, where something is. One fact a note. No secrets.",
  input: z.object({
    content: contentField,
    category: categoryField
      .default("general")
      .describe('For example "user_preference", "project_info" or "decision"'),
    scope: scopeField
      .default("thread")
      .describe(
        "Where it holds: in this thread, in all threads of this channel, or for the person who speaks now, everywhere",
      ),
  }),
  effect: "write",
  async run({ content, category, scope }, { notes }) {
    const present = (await notes.list()).filter((note) => note.scope === scope);
    if (present.length >= notesPerScope) {
      const text = `There are ${present.length} notes of the ${scope} already; forget or merge some first.`;
      return { status: "error", text };
    }
    const { id } = await notes.add({ scope, category, text: content });
    return { status: "ok", text: `Recorded note ${id} of the ${scope} in "${category}".` };
  },
});

export const recallNotes = defineTool({
  name: "recall_notes",
  description:
    "Read the notes that were recorded for this thread, its channel and the people who speak: all of them or those " +
    "of a scope, a category or with some words in them.",
  input: z.object({
    scope: scopeField.optional(),
    category: z.string().optional(),
    query: z.string().optional().describe("Words that a note must all contain, in any order and case"),
  }),
  effect: "read",
  async run({ scope, category, query = "" }, { notes }) {
    const all = await notes.list();
    if (all.length === 0) return { status: "ok", text: "There are no notes yet." };
    const words = foldText(query).split(/\s+/).filter(Boolean);
    const found = all.filter(
      (note) =>
        (scope === undefined || note.scope === scope) &&
        (category === undefined || note.category === category) &&
        words.every((word) => foldText(note.text).includes(word)),
    );
    if (found.length > 0) return { status: "ok", text: found.map(formatNote).join("\n") };
    const categories = [...new Set(all.map((note) => note.category))].join(", ");
    return { status: "ok", text: `No note matches. There are ${all.length} notes, in: ${categories}.` };
  },
});

export const updateNote = defineTool({
  name: "update_note",
  description: "Replace the fact of a note, by the id that recall_notes shows.",
  input: z.object({ id: z.string(), content: contentField, category: categoryField.optional() }),
  effect: "write",
  async run({ id, content, category }, { notes }) {
    const note = await notes.update(id, { text: content, category });
    return note ? { status: "ok", text: `Note ${id} is changed.` } : refuseUnknownNote(id);
  },
});

export const forgetNote = defineTool({
  name: "forget_note",
  description:
    "Remove a note that is wrong, outdated or no longer wanted, by the id that recall_notes shows.",
  input: z.object({ id: z.string() }),
  effect: "write",
  async run({ id }, { notes }) {
    return (await notes.remove(id))
      ? { status: "ok", text: `Note ${id} is removed.` }
      : refuseUnknownNote(id);
  },
});

function refuseUnknownNote(id: string): ToolResult {
  return {
    status: "error",
    text: `There is no note "${cutText(id, 64)}" here; recall_notes shows the ids.`,
  };
}

function formatNote({ id, scope, category, text, author, at }: Note): string {
  const day = new Date(at).toISOString().slice(0, 10);
  return `${id} [${scope}, ${category}] ${text} (${author ? `${author}, ` : ""}${day})`;
}
