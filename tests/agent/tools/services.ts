import { createMasker } from "../../../src/agent/context/mask.ts";
import type { ToolCall, ToolMessage } from "../../../src/agent/messages.ts";
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherOptions,
} from "../../../src/agent/tools/dispatch.ts";
import type { Note, NoteStore } from "../../../src/agent/tools/notes.ts";

/** Notes in memory, as a caller of the agent may keep them. */
export function memoryNotes(): NoteStore {
  const notes: Note[] = [];
  return {
    async add({ category, text }) {
      const note: Note = { id: `n${notes.length + 1}`, category, text, author: "Ann", at: 1_700_000_000_000 };
      notes.push(note);
      return note;
    },
    list: async () => [...notes],
    async remove(id) {
      const index = notes.findIndex((note) => note.id === id);
      if (index >= 0) notes.splice(index, 1);
      return index >= 0;
    },
  };
}

/** A dispatcher with what a test does not care about filled in. */
export function dispatcherOf(options: Partial<DispatcherOptions>): Dispatcher {
  return createDispatcher({
    tools: [],
    services: { notes: memoryNotes(), now: Date.now },
    masker: createMasker([]),
    onError: (_, error) => {
      throw error;
    },
    ...options,
  });
}

let calls = 0;

export function callOf(name: string, input: unknown): ToolCall {
  calls += 1;
  return { id: `call_${calls}`, name, input };
}

/** Runs one call that nobody stops. */
export async function run(dispatcher: Dispatcher, name: string, input: unknown): Promise<ToolMessage> {
  return (await dispatcher.dispatch(callOf(name, input), new AbortController().signal)).message;
}
