import type { StopOrder } from "../../agent/events.ts";
import { type History, type OpenTurn, type Replay, startReplay } from "../../agent/history.ts";
import type { JournalRecord } from "../../agent/journal.ts";
import { type CancelledMessages, findCancelled } from "../session/cancelled-messages.ts";
import type { SessionLease } from "../session/lease.ts";
import { readHeadNumber } from "../session/stored.ts";
import type { SessionRunnerOptions, TurnDisplay } from "./contracts.ts";
import type { Flush } from "./stop-notice.ts";
import { isNewerStop } from "./stops.ts";

/** A session that this worker holds, as one phase of its run hands it to the next. */
export interface ClaimedSession {
  readonly lease: SessionLease;
  readonly options: SessionRunnerOptions;
  /** Aborted when the worker shuts down or has lost the job. */
  readonly job: AbortSignal;
  readonly orders: StopFeed;
  readonly cancelled: CancelledMessages;
  /** Does what the outbox holds; what may take longer than that joins `rest`. */
  readonly flush: Flush;
  /** Marks and edits. They may take longer than the next turn, but not longer than this claim. */
  readonly rest: Promise<void>[];
  readonly replay: Replay;
  /** The journal as far as it is replayed. */
  records: JournalRecord[];
  /** Absent when it may have changed since it was read. */
  head: Record<string, string> | undefined;
  /** Claims without progress of the turn that this claim has found; none of a later one. */
  claims: number;
  /** When the thread was listed for the sweeper, read before the last look into its mailbox. */
  listedSince: string | null | undefined;
  /** How often it was looked for something to do. */
  looks: number;
}

/** A turn that a claim has begun or goes on with. */
export interface CurrentTurn {
  /** Belongs to whoever runs the turn: messages that it takes are added. */
  turn: OpenTurn;
  history: History;
  display: TurnDisplay;
  /** The session's head when the turn was opened. */
  head: Record<string, string>;
}

export async function openSession(
  lease: SessionLease,
  options: SessionRunnerOptions,
  job: AbortSignal,
  orders: StopFeed,
): Promise<ClaimedSession> {
  const { head, stop } = lease.found;
  if (stop) orders.hear(stop);
  const rest: Promise<void>[] = [];
  const session: ClaimedSession = {
    ...{ lease, options, job, orders, rest, head },
    cancelled: { messages: [], told: readHeadNumber(options.redis, lease.thread, "told", head["told"]) },
    replay: startReplay(),
    records: [],
    claims: lease.claimsWithoutProgress,
    listedSince: undefined,
    looks: 0,
    async flush(quiet) {
      session.head = undefined;
      const flushed = await options.flushOutbox(lease, job, quiet);
      rest.push(flushed.rest);
      // Whoever waits for it at the end is told of a failure.
      flushed.rest.catch(() => undefined);
    },
  };
  await readHistory(session);
  session.cancelled.messages.push(...findCancelled(session.records, 0).messages);
  return session;
}

/** The session's state as its journal stands. Each record is replayed once a claim. */
export async function readHistory(session: ClaimedSession): Promise<History> {
  const known = session.records.length;
  session.records = await session.lease.read();
  session.replay.add(session.records.slice(known));
  return session.replay.history();
}

export async function readHead(session: ClaimedSession): Promise<Record<string, string>> {
  session.head ??= await session.lease.head();
  return session.head;
}

/** The stop orders of a thread, from wherever this worker hears of them. */
export interface StopFeed {
  /** Takes note of an order; one that is older than another changes nothing. */
  hear(order: StopOrder): void;
  /** Calls back for the newest order, if any, and for every later one, or again. Returns how to end it. */
  follow(onStop: (order: StopOrder) => void): () => void;
}

export function createStopFeed(): StopFeed {
  let newest: StopOrder | undefined;
  let follower: ((order: StopOrder) => void) | undefined;
  return {
    hear(order) {
      if (!newest || isNewerStop(order, newest)) newest = order;
      follower?.(newest);
    },
    follow(onStop) {
      follower = onStop;
      if (newest) onStop(newest);
      return () => {
        if (follower === onStop) follower = undefined;
      };
    },
  };
}
