import { createTokenCounter } from "../context/tokens.ts";
import { attachFile } from "./files/attach-file.ts";
import { bash } from "./bash.ts";
import { editFile } from "./files/edit-file.ts";
import type { FileKnowledge } from "./files/file-knowledge.ts";
import { bashKill, bashOutput } from "./jobs.ts";
import { listFiles } from "./files/list-files.ts";
import { forgetNote, recallNotes, recordNote, updateNote } from "./note-tools.ts";
import { readFile } from "./files/read-file.ts";
import { schedule } from "./schedule.ts";
import { searchFiles } from "./files/search-files.ts";
import { searchHistory } from "./search-history.ts";
import { todo } from "./todo.ts";
import type { Tool } from "./tool.ts";
import { writeFile } from "./files/write-file.ts";

/** One for the process: its caches are worth more the longer they live. */
const counter = createTokenCounter();

/**
 * The tools that work in the thread's sandbox; without one they are not registered. Made anew for each turn,
 * because what they know of the files holds for one turn.
 */
export function createSandboxTools(): Tool[] {
  const known: FileKnowledge = new Map();
  return [
    bash,
    bashOutput,
    bashKill,
    readFile(known, counter),
    writeFile(known),
    editFile(known),
    listFiles,
    searchFiles,
    attachFile,
  ];
}

/** The tools that need no sandbox. */
export function createSessionTools(): Tool[] {
  return [recordNote, recallNotes, updateNote, forgetNote, searchHistory, schedule, todo];
}
