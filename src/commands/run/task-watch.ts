import type { Redis } from "ioredis";
import type { TurnOutcome } from "../../agent/events.ts";
import { startReplay } from "../../agent/journal/replay.ts";
import { isUndecided } from "../../agent/journal/history.ts";
import { noUsage } from "../../agent/model.ts";
import type { ThreadId } from "../../chat/threads.ts";
import type { LiveEvent } from "../../progress/live-event.ts";
import { renderClosing } from "../../progress/receipt.ts";
import { hasUnsentEnding } from "../../queue/outbox/flush.ts";
import { readForward } from "../../queue/session/journal/journal.ts";
import { readOpenQuestions } from "../../queue/session/questions/open-questions.ts";
import { readSessionStatus } from "../../queue/session/lists/sessions.ts";
import { noChanges } from "../../queue/turns/contracts.ts";
import { readStop } from "../../queue/turns/stops.ts";

/**
 * Events are lost with a connection to Redis, and with a worker that dies. This looks at what is stored, and tells of a
 * question and of the end what the events should have told. To be called again and again.
 *
 * @param from where the task begins in the journal of an earlier thread
 * @param tell may be called for what an event has told too; undefined: nothing is left of the task
 */
export function watchTask(
  redis: Redis,
  thread: ThreadId,
  from: number,
  tell: (event: LiveEvent | undefined) => void,
): () => Promise<void> {
  let wasOver = false;
  const read = readTask(redis, thread, from);
  return async () => {
    const status = await readSessionStatus(redis, thread);
    // The event comes when everything is posted, and knows more than the record.
    const isOver = status === "idle" && !(await hasUnsentEnding(redis, thread));
    if (isOver ? wasOver : (await readOpenQuestions(redis, thread)).length > 0) {
      const task = await read();
      if (isOver) tell(await endOf(redis, thread, task));
      else for (const question of task.questions) tell(question);
    }
    wasOver = isOver;
  };
}

/** What the journal says of a task. */
interface TaskRecords {
  questions: LiveEvent[];
  /** Ids of the messages. */
  messages: string[];
  end: { turn: string; outcome: TurnOutcome } | undefined;
}

/** Reads with each call what was written since the one before. */
function readTask(redis: Redis, thread: ThreadId, from: number): () => Promise<TaskRecords> {
  const replay = startReplay();
  const messages: string[] = [];
  let position = from;
  let end: TaskRecords["end"];
  return async () => {
    for await (const { records } of readForward(redis, thread, position)) {
      position += records.length;
      replay.add(records);
      end ??= records.find((record) => record.type === "turn-end");
      messages.push(...records.flatMap((record) => (record.type === "user" ? [record.message.id] : [])));
    }
    const { open, turn } = replay.history();
    const step = turn?.steps ?? 0;
    const questions = open
      .filter(isUndecided)
      .map(({ question, call }) => ({ type: "question", step, question, call }) as const);
    return { questions, messages, end };
  };
}

async function endOf(
  redis: Redis,
  thread: ThreadId,
  { messages, ...task }: TaskRecords,
): Promise<LiveEvent | undefined> {
  const end = task.end ?? (await findCancelledTask(redis, thread));
  if (!end) return undefined;
  const { turn, outcome } = end;
  // What only the worker knew, the files above all, is left out.
  const [closing] = renderClosing(turn, { outcome, durationMs: 0, files: noChanges, withdrawn: [] });
  return { type: "turn-end", turn, outcome, messages: [...messages], closing };
}

/** The end of a task that was stopped before a turn has taken it. */
async function findCancelledTask(
  redis: Redis,
  thread: ThreadId,
): Promise<{ turn: string; outcome: TurnOutcome } | undefined> {
  const order = await readStop(redis, thread);
  return order && { turn: "", outcome: { kind: "stopped", order, steps: 0, usage: noUsage } };
}
