import type { Redis } from "ioredis";
import { z } from "zod";
import type { StopOrder } from "../../../agent/events.ts";
import type { JournalRecord } from "../../../agent/journal/journal.ts";
import { heddle, type Speaker, type UserMessage } from "../../../agent/messages.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import { channels, daySeconds, keys } from "../../redis/keys.ts";
import { loadScript, scriptJson } from "../../redis/script.ts";

const editScript = loadScript(new URL("../scripts/edit.lua", import.meta.url));
const deleteScript = loadScript(new URL("../scripts/delete.lua", import.meta.url));

/** What people do to messages that they have sent: edit and delete them. */
export interface MessageChange {
  /** Id of the message. */
  message: string;
  author: Speaker;
  /** When it was edited or deleted, by the platform's clock, ms. */
  at: number;
  /** As of the message itself, see `UserMessage`. */
  unaddressed?: true;
}

const separator = "~";
const edited = "(I have edited an earlier message. It now reads:)\n";

/**
 * `changed`: it had not been taken. `passed-on`: the running turn is told. `repeated`: one of them, and it was told
 * before. `too-late`: nobody works on it.
 */
export type Edited = "changed" | "passed-on" | "repeated" | "too-late";

/** What edit.lua replies, by its number. */
const edits = ["too-late", "changed", "passed-on", "repeated"] as const;

/** Once for the same edit, however often it is told, and not at all where a later one was told before. */
export async function editMessage(
  redis: Redis,
  thread: ThreadId,
  { message, author, at, text, unaddressed, plan }: MessageChange & Pick<UserMessage, "text" | "plan">,
): Promise<Edited> {
  const correction = createNote({ message, at }, author, `${edited}${text}`);
  if (unaddressed) correction.message.unaddressed = true;
  if (plan) correction.message.plan = true;
  const newest = keys.seen(thread, `${message}${separator}edited`);
  const result = await editScript.run(
    redis,
    [keys.head(thread), keys.mail(thread), keys.asked(thread), newest],
    [message, text, scriptJson(correction), daySeconds, at, plan ? "1" : ""],
  );
  return edits[z.literal([0, 1, 2, 3]).parse(result)];
}

/** `withdrawn`: it had not been taken. `stopping`: the turn worked on nothing else. `repeated`: any of them, told before. */
export type Deleted = "withdrawn" | "passed-on" | "stopping" | "repeated" | "too-late";

/** What delete.lua replies, by its number. */
const deletions = ["too-late", "withdrawn", "passed-on", "stopping", "repeated"] as const;

/** Once for the same deletion, however often it is told. */
export async function deleteMessage(
  redis: Redis,
  thread: ThreadId,
  { message, author, at }: MessageChange,
): Promise<Deleted> {
  const note = createNote(
    { message, at },
    heddle,
    `(${author.name} has deleted one of the messages of this task. Do no more of what only it asked for.)`,
  );
  const order: StopOrder = { by: `${author.name}, who deleted the message`, at };
  const result = await deleteScript.run(
    redis,
    [
      ...[keys.head(thread), keys.mail(thread), keys.asked(thread), keys.stop(thread)],
      keys.seen(thread, `${message}${separator}deleted`),
    ],
    [message, scriptJson(note), scriptJson(order), daySeconds, channels.stops, thread],
  );
  return deletions[z.literal([0, 1, 2, 3, 4]).parse(result)];
}

/** What the model reads about it. */
function createNote(
  { message, at }: Pick<MessageChange, "message" | "at">,
  author: Speaker,
  text: string,
): Extract<JournalRecord, { type: "user" }> {
  const id = `${message}${separator}${at}`;
  return { type: "user", message: { role: "user", id, author, text, at } };
}

/** What an edit that the turn was told of has made of the message. */
export function readCorrection({ id, text }: UserMessage): string | undefined {
  return id.includes(separator) && text.startsWith(edited) ? text.slice(edited.length) : undefined;
}

/** The message on the platform that a user message stands for: itself, or the one that was edited or deleted. */
export function platformMessageId(id: string): string {
  return id.split(separator)[0] ?? id;
}
