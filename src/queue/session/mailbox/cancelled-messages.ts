import type { JournalRecord } from "../../../agent/journal/journal.ts";
import type { UserMessage } from "../../../agent/messages.ts";

/** The session's messages that a stop has overtaken before any model saw them. The thread is told of each once. */
export interface CancelledMessages {
  /** How many there are before `messages`; the thread knows of all these. */
  before: number;
  messages: UserMessage[];
  /** So many of all of them, from the first on, the thread knows of. */
  told: number;
}

/** The messages that these records tell to be taken back. */
export function findCancelled(records: readonly JournalRecord[]): UserMessage[] {
  const said = new Map(
    records.flatMap((record) =>
      record.type === "user" ? [[record.message.id, record.message] as const] : [],
    ),
  );
  return records.flatMap((record) => {
    const message = record.type === "withdrawn" ? said.get(record.id) : undefined;
    return message ? [message] : [];
  });
}

export function listUnnotified({ before, messages, told }: CancelledMessages): UserMessage[] {
  return messages.slice(Math.max(0, told - before));
}

/** For the write that tells the thread. */
export function markNotified({ before, messages }: CancelledMessages): { told: string } {
  return { told: String(before + messages.length) };
}

/** When that is written. */
export function setNotified(cancelled: CancelledMessages): void {
  cancelled.told = cancelled.before + cancelled.messages.length;
}
