import type { Message } from "../../messages.ts";
import { isNoteIndex } from "./note-index.ts";
import { isProjectInstructions } from "./project-instructions.ts";
import { isSituation } from "./situation.ts";

/** Whether it is Heddle telling the model what it should know beside what people say; it asks for no reply. */
export function isContextMessage(message: Message): boolean {
  return isNoteIndex(message) || isSituation(message) || isProjectInstructions(message);
}
