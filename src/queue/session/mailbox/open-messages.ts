import type { Redis } from "ioredis";
import type { JournalRecord } from "../../../agent/journal/journal.ts";
import type { OpenMessage } from "../../../chat/downtime.ts";
import { threadId, type ThreadRef } from "../../../chat/threads.ts";
import { keys } from "../../redis/keys.ts";
import { readMailbox } from "./mailbox.ts";
import { platformMessageId, readCorrection } from "./message-changes.ts";
import { readLastTurn } from "../requesters.ts";
import { readMessageRef } from "../stored.ts";

/** What waits in a thread, what its running turn works on, and where that turn shows its progress. */
export async function listOpenMessages(redis: Redis, thread: ThreadRef): Promise<OpenMessage[]> {
  const id = threadId(thread);
  const [waiting, asked, [status, progress]] = await Promise.all([
    readMailbox(redis, id),
    redis.smembers(keys.asked(id)),
    redis.hmget(keys.head(id), "status", "progress"),
  ]);
  const taken = status === "running" ? usersIn(await readLastTurn(redis, id)) : [];
  const { platform, workspace, channel } = thread;
  const open = new Map<string, OpenMessage & { written: NonNullable<OpenMessage["written"]> }>();
  for (const message of [...taken.filter((one) => asked.includes(one.id)), ...waiting]) {
    const known = open.get(platformMessageId(message.id));
    const edit = readCorrection(message);
    if (known && edit !== undefined) known.written.text = edit;
    // Others are no messages on the platform.
    if (message.scheduled || platformMessageId(message.id) !== message.id) continue;
    const { author, text } = message;
    const ref = { platform, workspace, channel, message: message.id };
    open.set(message.id, { thread, ref, written: { author, text } });
  }
  const shown = status === "running" ? readMessageRef(redis, id, "progress", progress) : undefined;
  return [...open.values(), ...(shown ? [{ thread, ref: shown }] : [])];
}

function usersIn(records: readonly JournalRecord[]) {
  return records.flatMap((record) => (record.type === "user" ? [record.message] : []));
}
