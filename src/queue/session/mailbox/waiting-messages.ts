import type { Redis } from "ioredis";
import { z } from "zod";
import type { UserMessage } from "../../../agent/messages.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import { daySeconds, keys } from "../../redis/keys.ts";
import { loadScript } from "../../redis/script.ts";
import { readMailbox } from "./mailbox.ts";

const removeScript = loadScript(new URL("../scripts/remove-waiting.lua", import.meta.url));
const moveScript = loadScript(new URL("../scripts/move-waiting.lua", import.meta.url));

/** What a turn is told about a message that it works on already: a correction, or the note of a deletion. */
const isAboutAnother = /~[\d.]+$/;

/** The messages that no turn has taken, in the order in which one will take them. */
export async function listWaiting(redis: Redis, thread: ThreadId): Promise<UserMessage[]> {
  return (await readMailbox(redis, thread)).filter(({ id }) => !isAboutAnother.test(id));
}

/** What names a waiting message in commands, whatever its place; absent for those that an older Heddle has accepted. */
export function handleOf({ seq }: Pick<UserMessage, "seq">): string | undefined {
  return seq === undefined ? undefined : `m${seq}`;
}

/** `repeated`: it was removed before. `gone`: a turn has taken it, or it never waited. */
export type Removal = "removed" | "repeated" | "gone";

/** What remove-waiting.lua replies, by its number. */
const removals = ["gone", "removed", "repeated"] as const;

/** Takes a message out of its thread's mailbox, unless a turn has taken it: one of the two, never both. */
export async function removeWaiting(redis: Redis, thread: ThreadId, message: string): Promise<Removal> {
  const result = await removeScript.run(
    redis,
    [keys.head(thread), keys.mail(thread), keys.seen(thread, `${message}~removed`)],
    [message, daySeconds],
  );
  return removals[z.literal([0, 1, 2]).parse(result)];
}

/** Where a message waits in its thread, counted from 1, and how many wait there. */
export interface WaitingPlace {
  place: number;
  count: number;
}

/**
 * Gives a message another place among those that wait in its thread; undefined when it does not wait.
 * @param to counted from 1; a place behind the last one means the last one
 */
export async function moveWaiting(
  redis: Redis,
  thread: ThreadId,
  message: string,
  to: number,
): Promise<WaitingPlace | undefined> {
  const result = await moveScript.run(redis, [keys.mail(thread)], [message, to]);
  const [place, count] = z.tuple([z.int(), z.int()]).parse(result);
  return place === 0 ? undefined : { place, count };
}
