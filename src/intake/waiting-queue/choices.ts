import type { UserMessage } from "../../agent/messages.ts";
import type { ActionButton, ChoiceMenu } from "../../chat/outbound.ts";
import { handleOf } from "../../queue/session/waiting-messages.ts";
import { firstWords, formatAge } from "../text-commands/queue.ts";

/** What people do with a message that waits. */
export type QueueChange = "remove" | "first";

const names = { remove: "queue-remove", first: "queue-first" } as const;
const labels = { remove: "Take out of the queue…", first: "Have taken first…" } as const;

/** The id of a choice. Discord takes a hundred characters; its ids of a thread and a message have 62 at most. */
function choiceId(change: QueueChange, { thread, message }: OfferedMessage): string {
  return `${names[change]}:${thread}:${message.id}`;
}

/** What the id of a choice or a press means; undefined where it means something else. */
export function readChoiceId(
  id: string,
): { change: QueueChange; thread: string; message: string } | undefined {
  const [, name, thread = "", message = ""] = /^(queue-remove|queue-first):([^:]+):(.+)$/s.exec(id) ?? [];
  if (name === undefined) return undefined;
  return { change: name === names.first ? "first" : "remove", thread, message };
}

export interface OfferedMessage {
  message: UserMessage;
  /** Within its channel. */
  thread: string;
}

/** Of the five buttons that a message has. */
const mostButtons = { remove: 3, first: 2 } as const;
/** See `ActionButton`. */
const longestId = 80;

/** Buttons that do the same in a list that everybody in the thread can read; whoever presses one must be allowed to. */
export function offerButtons(change: QueueChange, offered: readonly OfferedMessage[]): ActionButton[] {
  return offered
    .flatMap((one): ActionButton[] => {
      const [id, handle] = [choiceId(change, one), handleOf(one.message)];
      if (handle === undefined || id.length > longestId) return [];
      const label = change === "remove" ? `Take out ${handle}` : `${handle} first`;
      return [{ id, label, style: "plain" }];
    })
    .slice(0, mostButtons[change]);
}

/** More are changed by commands. */
const mostOptions = 25;

/** A menu of these messages; none where there is nothing to choose. @param now ms */
export function offerChange(
  change: QueueChange,
  offered: readonly OfferedMessage[],
  now: number,
): ChoiceMenu[] {
  if (offered.length === 0) return [];
  const options = offered.slice(0, mostOptions).map((one) => ({
    id: choiceId(change, one),
    label: `${handleOf(one.message) ?? ""} ${firstWords(one.message)}`.trim(),
    about: `${one.message.author.name}, ${formatAge(now - one.message.at)}`,
  }));
  return [{ label: labels[change], options }];
}
