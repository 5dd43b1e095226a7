import type { Redis } from "ioredis";
import { escapeMarkdown } from "../../chat/escape-markdown.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { toInlineCode } from "../../chat/visible-call.ts";
import {
  listApprovals,
  takeBackApprovals,
  type ThreadApproval,
} from "../../queue/session/questions/thread-approvals.ts";
import { formatAge } from "./queue.ts";

/** A text command about what is approved for a whole thread. */
export type ApprovalsCommand = "list" | "clear";

/** The whole message must be `!approvals` or `!approvals clear`; a slash does as well where the platform leaves it to us. */
export function readApprovalsCommand(text: string): ApprovalsCommand | undefined {
  const [all, clear] = /^[/!]approvals(\s+clear)?$/i.exec(text.trim()) ?? [];
  return all === undefined ? undefined : clear === undefined ? "list" : "clear";
}

/** Runs the command: gives the reply, and what it has taken back. */
export async function answerApprovalsCommand(
  redis: Redis,
  thread: ThreadId,
  command: ApprovalsCommand,
  now: number,
): Promise<{ markdown: string; takenBack: ThreadApproval[] }> {
  const approvals = await listApprovals(redis, thread);
  if (approvals.length === 0) return { markdown: nothing, takenBack: [] };
  const list = approvals.map(
    ({ rule, by, at }) =>
      `- ${toInlineCode(rule.text)}, by ${escapeMarkdown(by.name)}, ${formatAge(now - at)}`,
  );
  if (command === "list")
    return {
      markdown: [
        "**Approved for this thread**",
        ...list,
        "",
        "`!approvals clear` takes all of it back.",
      ].join("\n"),
      takenBack: [],
    };
  await takeBackApprovals(redis, thread, approvals);
  const head = "**No longer approved for this thread.** From the next call on, people are asked again about";
  return { markdown: [head, ...list].join("\n"), takenBack: approvals };
}

const nothing =
  "Nothing is approved for this whole thread: each call that needs an approval is put to people by itself.";
