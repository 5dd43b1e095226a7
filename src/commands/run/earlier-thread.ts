import type { Redis } from "ioredis";
import { consoleThread, isThreadId } from "../../adapters/console/conversations/refs.ts";
import { type ThreadRef, threadId } from "../../chat/threads.ts";
import { hasUnsentEnding } from "../../queue/outbox/flush.ts";
import { readApprovalsCommand } from "../../intake/text-commands/approvals.ts";
import { readQueueCommand } from "../../intake/text-commands/queue.ts";
import { readScheduleCommand } from "../../intake/text-commands/schedules.ts";
import { isStatusCommand } from "../../intake/text-commands/status.ts";
import { keys } from "../../queue/redis/keys.ts";
import { readOpenQuestions } from "../../queue/session/questions/open-questions.ts";
import { readSessionStatus } from "../../queue/session/lists/sessions.ts";
import { UsageError } from "../context.ts";

/** Where a task is given: its thread, and how long the journal was before it. */
export interface TaskPlace {
  thread: ThreadRef;
  from: number;
}

/**
 * The thread that a person names, by its whole id or the last part of it. Only threads of the terminal and the console:
 * in those of a chat platform people write where the thread is, and everybody there sees who asks.
 *
 * @throws UsageError when it names no such thread
 */
export function parseTerminalThread(name: string): ThreadRef {
  const id = name.split(":").at(-1) ?? "";
  const thread = consoleThread(id);
  if (isThreadId(id) && (name === id || name === threadId(thread))) return thread;
  throw new UsageError(
    `${name} is no thread of the terminal: expected one as heddle run prints it at its end, for example ${threadId(consoleThread("0123456789abcdef"))}. Threads of chat platforms are continued there.`,
  );
}

/** Whether this is a text command that is about what goes on in the thread, and does not wait for its end. */
function isAnsweredAtOnce(text: string): boolean {
  return (
    isStatusCommand(text) ||
    readQueueCommand(text) !== undefined ||
    readScheduleCommand(text) !== undefined ||
    readApprovalsCommand(text) !== undefined
  );
}

/**
 * A sentence when that cannot be said in the thread: nobody knows it, or something is going on in it.
 *
 * @param text the task, or a text command
 */
export async function findEarlierThread(
  redis: Redis,
  thread: ThreadRef,
  text: string,
): Promise<TaskPlace | string> {
  const id = threadId(thread);
  const [known, status, questions, unsent, from] = await Promise.all([
    redis.exists(keys.head(id)),
    readSessionStatus(redis, id),
    readOpenQuestions(redis, id),
    hasUnsentEnding(redis, id),
    redis.llen(keys.log(id)),
  ]);
  if (known === 0)
    return `There is no thread ${id}: it has expired, or it was never here. heddle threads list prints those that there are.`;
  if (isAnsweredAtOnce(text)) return { thread, from };
  if (questions.length > 0)
    return `The thread ${id} waits for an answer: give it on the console, or end it with heddle stop ${id}.`;
  // What is said while a turn runs belongs to that turn, whose end is not the end of this task.
  if (status !== "idle" || unsent)
    return `The thread ${id} is still at work: wait for it, or end it with heddle stop ${id}.`;
  return { thread, from };
}
