import type { UserMessage } from "../../agent/messages.ts";
import type { ActionButton, ChoiceMenu } from "../../chat/outbound.ts";
import { handleOf } from "../../queue/session/mailbox/waiting-messages.ts";
import { firstWords, formatAge, type QueueChange } from "../text-commands/queue.ts";

/** What a choice asks for: a change, or first the list of places to which a message can be moved. */
export type QueueChoice = QueueChange | { do: "ask-place" };

const labels = {
  remove: "Take out of the queue…",
  first: "Have taken first…",
  "ask-place": "Move to another place…",
} as const;
type OfferedChange = keyof typeof labels;

const choices = {
  remove: { do: "remove" },
  first: { do: "move", to: 1 },
  "ask-place": { do: "ask-place" },
} as const;

/** The id of a choice. Discord takes a hundred characters; its ids of a thread and a message have 62 at most. */
function choiceId(choice: QueueChoice, { thread, message }: OfferedMessage): string {
  return `queue-${nameChoice(choice)}:${thread}:${message.id}`;
}

function nameChoice(choice: QueueChoice): string {
  if (choice.do === "ask-place") return "move";
  if (choice.do === "remove") return "remove";
  return choice.to === 1 ? "first" : `move-${choice.to}`;
}

/** What the id of a choice or a press means; undefined where it means something else. */
export function readChoiceId(
  id: string,
): { choice: QueueChoice; thread: string; message: string } | undefined {
  const [, name, place, thread = "", message = ""] =
    /^queue-(remove|first|move(?:-([1-9]\d{0,2}))?):([^:]+):(.+)$/s.exec(id) ?? [];
  if (name === undefined) return undefined;
  return { choice: readChoice(name, place), thread, message };
}

function readChoice(name: string, place: string | undefined): QueueChoice {
  if (place !== undefined) return { do: "move", to: Number(place) };
  return name === "remove" ? choices.remove : name === "first" ? choices.first : choices["ask-place"];
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
export function offerButtons(
  change: keyof typeof mostButtons,
  offered: readonly OfferedMessage[],
): ActionButton[] {
  return offered
    .flatMap((one): ActionButton[] => {
      const [id, handle] = [choiceId(choices[change], one), handleOf(one.message)];
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
  change: OfferedChange,
  offered: readonly OfferedMessage[],
  now: number,
): ChoiceMenu[] {
  if (offered.length === 0) return [];
  const options = offered.slice(0, mostOptions).map((one) => ({
    id: choiceId(choices[change], one),
    label: `${handleOf(one.message) ?? ""} ${firstWords(one.message)}`.trim(),
    about: `${one.message.author.name}, ${formatAge(now - one.message.at)}`,
  }));
  return [{ label: labels[change], options }];
}

/** A menu of the places to which that message can be moved. @param waiting all of its thread, in order */
export function offerPlaces(offered: OfferedMessage, waiting: readonly UserMessage[]): ChoiceMenu {
  const others = waiting.filter(({ id }) => id !== offered.message.id);
  const current = waiting.findIndex(({ id }) => id === offered.message.id);
  const options = waiting
    .map((_message, place) => place)
    .filter((place) => place !== current)
    .slice(0, mostOptions)
    .map((place) => {
      const [before, after] = [others[place - 1], others[place]];
      return {
        id: choiceId({ do: "move", to: place + 1 }, offered),
        label:
          place === 0 ? "1, before all others" : after ? `${place + 1}` : `${place + 1}, behind all others`,
        ...(before && { about: `behind ${handleOf(before) ?? ""} ${firstWords(before)}` }),
      };
    });
  return { label: "The new place…", options };
}
