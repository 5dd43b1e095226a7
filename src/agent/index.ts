/** What a program needs to run the agent by itself; examples/library.ts shows how. */
export { createContextWindow } from "./context/compaction.ts";
export { createMasker } from "./secrets/mask-secrets.ts";
export { createTokenCounter } from "./context/tokens.ts";
export { toRecord, replay } from "./history.ts";
export type { JournalRecord } from "./journal.ts";
export { openModel } from "./llm/open.ts";
export { runTurn } from "./loop/run-turn.ts";
export { createDispatcher } from "./tools/dispatch.ts";
export { createMemoryNotes } from "./tools/memory-notes.ts";
export { defineTool } from "./tools/tool.ts";
