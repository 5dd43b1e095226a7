import { createMessageExtras, type MessageExtras } from "../../src/message-extras/message-extras.ts";
import { memoryChat } from "../fakes/memory-chat.ts";

/** For tests of other things: messages without files, in threads where nothing was said before. */
export function plainMessageExtras(): MessageExtras {
  const { surface } = memoryChat();
  return createMessageExtras({
    files: { files: 0, fileBytes: 0, messageBytes: 0, downloadMs: 1 },
    room: { messages: 0, characters: 1_000 },
    surface: () => surface,
    mayAsk: () => true,
    onProblem(problem, error) {
      throw new Error(problem, { cause: error });
    },
  });
}
