import type { JournalRecord } from "../../agent/journal.ts";
import type { UserMessage } from "../../agent/messages.ts";

/** The session's messages that a stop has overtaken before any model saw them. The thread is told of each once. */
export interface CancelledMessages {
  messages: UserMessage[];
  /** So many of them, from the first on, the thread knows of. */
  told: number;
}

export function findCancelled(records: readonly JournalRecord[], told: number): CancelledMessages {
  const said = new Map(
    records.flatMap((record) =>
      record.type === "user" ? [[record.message.id, record.message] as const] : [],
    ),
  );
  const messages = records.flatMap((record) => {
    const message = record.type === "withdrawn" ? said.get(record.id) : undefined;
    return message ? [message] : [];
  });
  return { messages, told };
}

export function listUnnotified({ messages, told }: CancelledMessages): UserMessage[] {
  return messages.slice(told);
}

/** For the write that tells the thread. */
export function markNotified({ messages }: CancelledMessages): { told: string } {
  return { told: String(messages.length) };
}
