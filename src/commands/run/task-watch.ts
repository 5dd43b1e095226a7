import type { Redis } from "ioredis";
import type { TurnOutcome } from "../../agent/events.ts";
import { isUndecided, replay } from "../../agent/history.ts";
import type { JournalRecord } from "../../agent/journal.ts";
import { noUsage } from "../../agent/model.ts";
import type { ThreadId } from "../../chat/threads.ts";
import type { LiveEvent } from "../../progress/live-event.ts";
import { renderClosing } from "../../progress/receipt.ts";
import { hasUnsentEnding } from "../../queue/outbox/flush.ts";
import { readJournal } from "../../queue/session/journal.ts";
import { readOpenQuestions } from "../../queue/session/open-questions.ts";
import { readSessionStatus } from "../../queue/session/sessions.ts";
import { noChanges } from "../../queue/turns/contracts.ts";
import { readStop } from "../../queue/turns/stops.ts";

/**
 * Events are lost with a connection to Redis, and with a worker that dies. This looks at what is stored, and tells of a
 * question and of the end what the events should have told. To be called again and again.
 *
 * @param tell may be called for what an event has told too; undefined: nothing is left of the task
 */
export function watchTask(
  redis: Redis,
  thread: ThreadId,
  tell: (event: LiveEvent | undefined) => void,
): () => Promise<void> {
  let wasOver = false;
  return async () => {
    const status = await readSessionStatus(redis, thread);
    // The event comes when everything is posted, and knows more than the record.
    const isOver = status === "idle" && !(await hasUnsentEnding(redis, thread));
    if (isOver ? wasOver : (await readOpenQuestions(redis, thread)).length > 0) {
      const records = await readJournal(redis, thread);
      if (isOver) tell(await endOf(redis, thread, records));
      else for (const question of questionsIn(records)) tell(question);
    }
    wasOver = isOver;
  };
}

function questionsIn(records: readonly JournalRecord[]): LiveEvent[] {
  const { open, turn } = replay(records);
  const step = turn?.steps ?? 0;
  return open.filter(isUndecided).map(({ question, call }) => ({ type: "question", step, question, call }));
}

async function endOf(
  redis: Redis,
  thread: ThreadId,
  records: readonly JournalRecord[],
): Promise<LiveEvent | undefined> {
  const end =
    records.find((record) => record.type === "turn-end") ?? (await findCancelledTask(redis, thread));
  if (!end) return undefined;
  const { turn, outcome } = end;
  const messages = records.flatMap((record) => (record.type === "user" ? [record.message.id] : []));
  // What only the worker knew, the files above all, is left out.
  const [closing] = renderClosing(turn, { outcome, durationMs: 0, files: noChanges, withdrawn: [] });
  return { type: "turn-end", turn, outcome, messages, closing };
}

/** The end of a task that was stopped before a turn has taken it. */
async function findCancelledTask(
  redis: Redis,
  thread: ThreadId,
): Promise<{ turn: string; outcome: TurnOutcome } | undefined> {
  const order = await readStop(redis, thread);
  return order && { turn: "", outcome: { kind: "stopped", order, steps: 0, usage: noUsage } };
}
