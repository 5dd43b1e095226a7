import type { Redis } from "ioredis";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { loadScript } from "../redis/script.ts";
import { enqueueForSweep } from "../session/lists/sweep-list.ts";
import { readRedo, readUndoOrder, type Redo, type UndoOrder } from "./stored.ts";

const orderScript = loadScript(new URL("scripts/order-undo.lua", import.meta.url));

/** What a thread's head says of undoing, for those who give orders. */
export interface UndoState {
  /** A turn runs, or waits for people. */
  isRunning: boolean;
  /** Messages wait. */
  isWaiting: boolean;
  order: UndoOrder | undefined;
  redo: Redo | undefined;
  /** The order as it was read, for {@link orderUndo}. */
  read: string;
}

/** Undefined where the thread has no session. */
export async function readUndoState(redis: Redis, thread: ThreadId): Promise<UndoState | undefined> {
  const [[epoch, status, undo, redo], waiting] = await Promise.all([
    redis.hmget(keys.head(thread), "epoch", "status", "undo", "redo"),
    redis.llen(keys.mail(thread)),
  ]);
  if (!epoch) return undefined;
  return {
    isRunning: status === "running",
    isWaiting: waiting > 0,
    order: readUndoOrder(redis, thread, { undo }),
    redo: readRedo(redis, thread, { redo }),
    read: undo ?? "",
  };
}

/** Orders it for the worker that claims the thread next; false where another order was given since `read`. */
export async function orderUndo(
  redis: Redis,
  thread: ThreadId,
  order: UndoOrder,
  read: string,
): Promise<boolean> {
  const isFirst = (await orderScript.run(redis, [keys.head(thread)], [JSON.stringify(order), read])) === 1;
  if (isFirst) await enqueueForSweep(redis, thread, order.at);
  return isFirst;
}
