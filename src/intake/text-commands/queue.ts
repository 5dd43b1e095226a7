import type { UserMessage } from "../../agent/messages.ts";
import { cutWords } from "../../agent/text/text.ts";
import { escapeMarkdown } from "../../chat/escape-markdown.ts";
import { handleOf } from "../../queue/session/mailbox/waiting-messages.ts";
import type { WaitingThread } from "../../queue/turns/channel-queue.ts";

/** What people do with a message that waits. `to`: its new place, counted from 1. */
export type QueueChange = { do: "remove" } | { do: "move"; to: number };

/** A text command about what waits. `handle`: of a message, as the list names it. */
export type QueueCommand = { do: "list" } | { do: "change"; change: QueueChange; handle: string };

/** A number alone could be the place in the list, which may have changed since. */
const atOnce = /^\s*[/!]queue\s+(remove|first|last)\s+`?(m\d+)`?\s*$/i;
const toPlace = /^\s*[/!]queue\s+move\s+`?(m\d+)`?\s+(?:to\s+)?([1-9]\d{0,2})\s*$/i;
/** Behind all others. */
const lastPlace = 1_000_000;

/**
 * The whole message must be `/queue`, `/queue remove m7`, `/queue move m7 to 2`, `/queue first m7` or `/queue last m7`,
 * or, as Slack keeps the slash for itself, with `!`.
 */
export function readQueueCommand(text: string): QueueCommand | undefined {
  if (/^\s*[/!]queue\s*$/i.test(text)) return { do: "list" };
  const [, moved, to] = toPlace.exec(text) ?? [];
  if (moved !== undefined)
    return { do: "change", change: { do: "move", to: Number(to) }, handle: moved.toLowerCase() };
  const [, action = "", handle] = atOnce.exec(text) ?? [];
  if (handle === undefined) return undefined;
  const change: QueueChange =
    action.toLowerCase() === "remove"
      ? { do: "remove" }
      : { do: "move", to: action.toLowerCase() === "first" ? 1 : lastPlace };
  return { do: "change", change, handle: handle.toLowerCase() };
}

/** What waits in a thread and around it, for people. */
export interface QueueView {
  /** Whether people know of the channel: the console's threads, those of a terminal too, are in none. */
  hasChannel: boolean;
  isRunning: boolean;
  /** In the thread, in order. */
  messages: readonly UserMessage[];
  /** In other threads of its channel, in order. */
  others: readonly WaitingThread[];
  /** Threads that wait, too, and that not everybody may read. */
  hidden: number;
  /** Turns that run in the channel. */
  running: number;
  now: number;
  /** How people change what waits: by commands, by the platform's own command, or by menus that stand below the list. */
  changedBy: "text" | "own-command" | "menus";
}

const most = { messages: 20, threads: 10 };
const shownChars = 80;

/** The list that `!queue` gives. */
export function describeQueue(view: QueueView): string {
  const { messages, others, hidden, now } = view;
  const own = messages.slice(0, most.messages).map((message, index) => {
    const handle = handleOf(message);
    return `${index + 1}. ${handle === undefined ? "" : `\`${handle}\` · `}${describeWaiting(message, now)}`;
  });
  const around = others.slice(0, most.threads).map(({ first, messages: count }, index) => {
    const more = count > 1 ? ` (and ${count - 1} more there)` : "";
    return `${index + 1}. ${describeWaiting(first, now)}${more}`;
  });
  const left = others.length - around.length + hidden;
  return [
    ...section(
      view.isRunning
        ? "**Waiting in this thread**, for the turn that is running"
        : "**Waiting in this thread**",
      own,
      messages.length - own.length,
    ),
    ...section(`**Waiting in other threads${view.hasChannel ? " of this channel" : ""}**`, around, left),
    ...(own.length + around.length + left === 0 ? ["Nothing waits here."] : []),
    describeRunning(view),
    ...describeChanges(view),
  ].join("\n\n");
}

function section(title: string, lines: readonly string[], left: number): string[] {
  if (lines.length + left === 0) return [];
  const more = left > 0 ? [`- … and ${left} more`] : [];
  return [title, [...lines, ...more].join("\n")];
}

function describeChanges({ messages, changedBy }: QueueView): string[] {
  const handles = messages.flatMap((message) => handleOf(message) ?? []);
  const [first] = handles;
  if (first === undefined || changedBy === "menus") return [];
  if (changedBy === "own-command") return ["`/queue` has menus that take a message out or move it."];
  const remove = `\`!queue remove ${first}\` takes a message out`;
  const last = handles.at(-1);
  return [last === first ? `${remove}.` : `${remove}, \`!queue move ${last} to 1\` moves it to that place.`];
}

function describeRunning({ running, isRunning, hasChannel }: QueueView): string {
  const where = hasChannel ? " in this channel" : "";
  if (running > 0) return `${running === 1 ? "One turn runs" : `${running} turns run`}${where}.`;
  return isRunning ? "A turn runs in this thread." : `No turn runs${where}.`;
}

function describeWaiting(message: UserMessage, now: number): string {
  const by = `${message.scheduled ? "scheduled by " : ""}${escapeMarkdown(message.author.name)}`;
  return `${by}, ${formatAge(now - message.at)}: ${escapeMarkdown(firstWords(message))}`;
}

/** On one line; the names of its files for a message without words. */
export function firstWords({ text, enclosed }: UserMessage): string {
  const files = enclosed?.files?.map(({ name }) => name).join(", ");
  return firstCharacters(text) || firstCharacters(files || "(no text)");
}

/** Of a text, on one line. */
export function firstCharacters(text: string): string {
  return cutWords(text.replaceAll(/\s+/g, " ").trim(), shownChars);
}

export function formatAge(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} days ago`;
}
