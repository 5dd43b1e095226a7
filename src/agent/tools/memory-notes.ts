import type { Note, NoteStore } from "../contracts/note-store.ts";

/** Notes that live as long as the process, for programs that use the agent without a database. */
export function createMemoryNotes(options: { author: string; now(): number }): NoteStore {
  const { author, now } = options;
  const notes = new Map<string, Note>();
  let made = 0;
  return {
    add(note) {
      made += 1;
      const added: Note = { ...note, id: `n${made}`, author, at: now() };
      notes.set(added.id, added);
      return Promise.resolve(added);
    },
    list: () => Promise.resolve([...notes.values()]),
    update(id, { text, category }) {
      const note = notes.get(id);
      if (!note) return Promise.resolve(undefined);
      const changed = { ...note, text, category: category ?? note.category, author, at: now() };
      notes.set(id, changed);
      return Promise.resolve(changed);
    },
    remove: (id) => Promise.resolve(notes.delete(id)),
  };
}
