import type { InboundMessage } from "../../chat/inbound.ts";

/**
 * Whether the whole message asks how this works. The bare word is none in a mention among other people's messages, who
 * want help with what they talk about.
 */
export function isHelpCommand({
  text,
  addressed,
  thread,
  ref,
}: Pick<InboundMessage, "text" | "addressed" | "thread" | "ref">): boolean {
  const [, sign = "", word = ""] = /^([/!]?)(help)[.!?]*$/i.exec(text.trim()) ?? [];
  if (sign !== "") return true;
  return word !== "" && (addressed !== "mention" || thread.thread === ref.message);
}

/** The answer, in words that hold on every platform. */
export const helpReply = [
  "Write what you need, with files if it takes some, and I work on it here. Anything you write in the meantime I read with the next step.",
  "A message that is nothing but one of these is a command:",
  [
    "- `stop`, the Stop button or 🛑 on a message of the work ends it, and I say what has ended",
    "- `!status` tells how it stands, `!queue` what waits, which you can take out or put in another order",
    "- `continue` goes on after a limit, `compact` makes room in a long conversation",
    "- `!undo` brings files and conversation back to before the last turn, once you have seen what that changes; `!redo` takes it back, `!fork` begins a new thread from here",
    "- `!quiet`, `!normal` and `!full` say how much of the work I show",
    "- `!notify on` has me mention you whenever what you asked for has ended, `!notify off` never; it holds in all threads",
    "- `!approvals` lists what waits for a decision in this channel and what is approved for this whole thread, `!approvals clear` takes that back",
    "- `!disconnect` lists the accounts that you have connected, and ends one",
    "- `!model` tells which model answers, and chooses another; `!skill` does so for a skill",
    "- `!prompt` lists prompts of MCP servers to begin a task with: `!prompt tickets/triage project=heddle` and the task",
    "- `!schedules` lists what is planned",
  ].join("\n"),
].join("\n\n");
