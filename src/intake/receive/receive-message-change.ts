import type { Quote } from "../../agent/messages.ts";
import type { InboundDeletion, InboundEdit, InboundMessage, IntakeResult } from "../../chat/inbound.ts";
import type { ChannelWatch } from "../../chat/channel-watch.ts";
import { threadId } from "../../chat/threads.ts";
import { keys } from "../../queue/redis/keys.ts";
import { deleteMessage, editMessage } from "../../queue/session/mailbox/message-changes.ts";
import { findThreadOfMessage } from "../../queue/session/mailbox/message-threads.ts";
import type { TurnQueue } from "../../queue/turns/wake-queue.ts";
import type { StopOptions } from "./receive-stop.ts";
import { readTask } from "./user-message.ts";

interface MessageChangeOptions extends Pick<StopOptions, "redis" | "afterStop"> {
  queue: Pick<TurnQueue, "wake">;
  watch?: Pick<ChannelWatch, "isWatched">;
}

/** Passes the edit or deletion of a message on: to the mailbox where it still waits, otherwise to the turn. */
export async function receiveMessageChange(
  { redis, queue, afterStop, watch }: MessageChangeOptions,
  event: InboundEdit | InboundDeletion,
): Promise<IntakeResult> {
  // A message of a watched channel may have gone to the thread of the ones before it.
  const heard = watch?.isWatched(event.thread) && (await findThreadOfMessage(redis, event.ref));
  const thread = heard || threadId(event.thread);
  const { id, name } = event.author;
  const isUnaddressed = Boolean(heard) && (await redis.hexists(keys.head(thread), "listening")) === 1;
  const change = {
    ...{ message: event.ref.message, author: { id, name }, at: event.at },
    ...(isUnaddressed && { unaddressed: true as const }),
  };
  const outcome =
    event.kind === "edit"
      ? await editMessage(redis, thread, { ...change, ...readTask(event.text, { isUnaddressed }) })
      : await deleteMessage(redis, thread, change);
  switch (outcome) {
    case "too-late":
      return { kind: "ignored", why: "nobody works on that message" };
    case "passed-on":
      // The turn may have ended in the meantime.
      await queue.wake(thread);
      return { kind: "amended", thread };
    case "stopping":
      await afterStop(thread);
      return { kind: "stopping", thread };
    case "repeated":
      await queue.wake(thread);
      return { kind: "amended", thread, unchanged: true };
    case "changed":
    case "withdrawn":
      return { kind: "amended", thread };
  }
}

/** What the event says now, as data; empty for a deletion. */
export function quoteOf(event: InboundMessage | InboundEdit | InboundDeletion): Quote {
  const { id, name } = event.author;
  return { author: { id, name }, text: event.kind === "delete" ? "" : event.text, at: event.at };
}
