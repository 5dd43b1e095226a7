import type { OutboundMessage } from "../../chat/outbound.ts";
import { SurfaceError } from "../../chat/surface.ts";
import { failpoint } from "../redis/failpoint.ts";
import { keys } from "../redis/keys.ts";
import type { SessionLease } from "../session/lease.ts";
import { rememberMessages } from "../session/mailbox/message-threads.ts";
import { readMessageRef } from "../session/stored.ts";
import { type OutboxOptions, settledSeconds } from "./contracts.ts";

/** An answer waits no longer for an edit: it is posted then. */
const patienceMs = 1_000;

/**
 * Makes the turn's progress message, in which its text grew, into the answer, so that what people have read stays where
 * it is. Doing it twice is the same as once.
 *
 * @param progress the key under which that message is settled, which is done with it
 * @returns false where there is no such message, or the platform does not take the edit at once
 */
export async function answerInPlace(
  lease: SessionLease,
  key: string,
  message: OutboundMessage,
  progress: string,
  options: OutboxOptions,
): Promise<boolean> {
  const { redis, surface, output, signal } = options;
  await options.progressQuiet;
  const ref = readMessageRef(redis, lease.thread, "progress", (await lease.head())["progress"]);
  if (!ref) return false;
  const patience = AbortSignal.timeout(patienceMs);
  const write = async () => {
    // Before the edit: whoever was frozen and writes later finds it.
    await redis.set(keys.settled(lease.thread, progress), JSON.stringify(message), "EX", settledSeconds);
    await failpoint("post", () => surface.edit(ref, message));
  };
  try {
    await output.write(surface, ref, "final", AbortSignal.any([signal, patience]), write, "edits");
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof SurfaceError || error === patience.reason) return false;
    throw error;
  }
  await rememberMessages(redis, lease.thread, [ref]);
  await lease.append([], { fields: { progress: "" }, outbox: { [key]: null, [progress]: null } });
  return true;
}
