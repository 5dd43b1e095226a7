/**
 * What a program needs to run the agent by itself, imported as `heddle/agent`; README.md beside this file shows how.
 * All else in this folder is internal and may change.
 *
 * @module
 */
export { createContextWindow } from "./context/compaction.ts";
export { createMasker } from "./secrets/mask-secrets.ts";
export { createTokenCounter } from "./context/tokens.ts";
export type { AgentEvent, TurnAbort, TurnOutcome } from "./events.ts";
export { replay } from "./journal/replay.ts";
export { type History, toRecord } from "./journal/history.ts";
export type { JournalRecord } from "./journal/journal.ts";
export { journalRecordSchema } from "./journal/journal-schema.ts";
export { openModel } from "./llm/open.ts";
export { runTurn } from "./loop/run-turn.ts";
export type { Turn } from "./loop/turn.ts";
export type { UserMessage } from "./messages.ts";
export { type LanguageModel, ModelError, type ModelEvent, type ModelRequest } from "./model.ts";
export { createDispatcher } from "./tools/dispatch/dispatch.ts";
export { createMemoryNotes } from "./tools/memory-notes.ts";
export { defineTool, type Tool, type ToolContext, type ToolResult } from "./tools/tool.ts";
