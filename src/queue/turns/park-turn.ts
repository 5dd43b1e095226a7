import type { Redis } from "ioredis";
import { type History, isUndecided } from "../../agent/journal/history.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { touchSession } from "../session/expiry.ts";
import { unlist } from "../session/lists/sweep-list.ts";
import {
  awaitPendingEdits,
  type ClaimedSession,
  type CurrentTurn,
  listWakeTimes,
} from "./claimed-session.ts";
import { endsTurn, readStop } from "./stops.ts";

/** Leaves a turn that can do nothing but wait for people; false when it can go on, also to its end by a stop. */
export async function parkTurn(
  session: ClaimedSession,
  { turn, history, display }: CurrentTurn,
): Promise<boolean> {
  const { lease, options, orders } = session;
  const until = await findParkingEnd(options.redis, lease.thread, history);
  if (until === undefined) return false;
  // Coming back is no sign of a crash.
  await lease.append([], { fields: { handover: "1" } });
  const openSeconds = Math.ceil((until - options.now()) / 1_000);
  await touchSession(options.redis, lease.thread, openSeconds + options.expireSeconds);
  await display.close();
  const { later = until } = await awaitPendingEdits(session);
  const wakeAt = Math.min(until, later, ...listWakeTimes(session));
  await unlist(options.redis, lease.thread, session.listedSince ?? null, wakeAt);
  let isStopped = false;
  orders.follow((order) => (isStopped ||= endsTurn(order, turn)))();
  // It came in the meantime, when whoever recorded it could do nothing but wake the thread: others may be woken before it.
  if (isStopped) await lease.append([], { fields: { handover: "0" } });
  return !isStopped;
}

/**
 * While the turn can do nothing but wait for people: when their time is over, ms. Undefined when it can go on, also
 * to its end by a stop.
 */
async function findParkingEnd(
  redis: Redis,
  thread: ThreadId,
  { open, turn }: History,
): Promise<number | undefined> {
  const [next] = open;
  if (!next || !isUndecided(next)) return undefined;
  const stop = await readStop(redis, thread);
  if (stop && (!turn || endsTurn(stop, turn))) return undefined;
  return Math.min(...open.filter(isUndecided).map(({ question }) => question.expiresAt));
}
