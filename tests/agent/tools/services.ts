import type { ToolCall, ToolMessage } from "../../../src/agent/messages.ts";
import type { NoteStore } from "../../../src/agent/contracts/note-store.ts";
import { createMasker } from "../../../src/agent/secrets/mask-secrets.ts";
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherOptions,
} from "../../../src/agent/tools/dispatch/dispatch.ts";
import { createMemoryNotes } from "../../../src/agent/tools/memory-notes.ts";

/** Notes that Ann records, all of them at one moment. */
export function memoryNotes(): NoteStore {
  return createMemoryNotes({ author: "Ann", now: () => 1_700_000_000_000 });
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
