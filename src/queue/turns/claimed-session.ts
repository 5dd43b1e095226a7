import { setTimeout as delay } from "node:timers/promises";
import type { StopOrder } from "../../agent/events.ts";
import type { History, OpenTurn } from "../../agent/journal/history.ts";
import type { KillReport } from "../../sandbox/sandbox.ts";
import { type CancelledMessages, listUnnotified } from "../session/mailbox/cancelled-messages.ts";
import type { SessionLease } from "../session/lease.ts";
import { addTail, type LoadedJournal, loadJournal } from "../session/journal/load-journal.ts";
import { charsOf } from "../session/journal/journal.ts";
import { serializeSnapshot } from "../session/journal/snapshot.ts";
import { readHeadNumber } from "../session/stored.ts";
import { readUndone } from "../undo/stored.ts";
import type { SessionRunnerOptions, TurnDisplay } from "./contracts.ts";
import {
  describeForModel,
  endsBy,
  isAboutJobs,
  hasEnded,
  hearReports,
  type LostHolder,
  nameCalls,
  readLostHolders,
  writeLost,
} from "./lost-holders.ts";
import { isNewerStop } from "./stops.ts";

/** What whoever holds a session needs besides the agent. */
export type SessionDeps = Pick<
  SessionRunnerOptions,
  "redis" | "now" | "newId" | "display" | "flushOutbox" | "expireSeconds"
>;

/** A session that this process holds, as one phase hands it to the next. */
export interface HeldSession {
  readonly lease: SessionLease;
  readonly options: SessionDeps;
  /** Aborted when the process shuts down or has lost the job. */
  readonly job: AbortSignal;
  readonly cancelled: CancelledMessages;
  /** Does what the outbox holds; what may take longer than that joins `pendingEdits`. @param quiet see `OutboxOptions` */
  readonly flush: (quiet: Promise<boolean>) => Promise<void>;
  /** Marks and edits. They may take longer than the next turn, but not longer than this claim. */
  readonly pendingEdits: Promise<void>[];
  /** Ends the waiting of `pendingEdits` for the platform: what is not done stays in the outbox for a later claim. */
  readonly abandonPendingEdits: () => Promise<void>;
  /** Since when nothing but `pendingEdits` is left to do, by `performance.now()`. */
  editsPendingSince: number | undefined;
  /** When the outbox is to be looked at again, ms since the epoch; undefined where nothing in it waits. */
  retryAt: number | undefined;
  /** The journal as far as it is replayed. */
  readonly journal: LoadedJournal;
  /** Absent when it may have changed since it was read. */
  head: Record<string, string> | undefined;
  /** Claims without progress of the turn that this claim has found; none of a later one. */
  claims: number;
  /** Earlier holders of which it was not known, at the claim, that all has ended. */
  readonly lost: readonly LostHolder[];
  /** Those of which people are told, with the turn's end, that it is not known. */
  readonly told: LostHolder[];
  /** Those of which it is: their fields go with the next end of a turn. */
  readonly ended: readonly LostHolder[];
  /** Redis' clock, ms. */
  clock(): number;
  /** When the thread was listed for the sweeper, read before the last look into its mailbox. */
  listedSince: string | null | undefined;
  /** How often it was looked for something to do. */
  looks: number;
}

/** A session that this worker holds and runs the turns of. */
export interface ClaimedSession extends HeldSession {
  readonly options: SessionRunnerOptions;
  readonly orders: StopFeed;
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

/** What was seen of what earlier holders have run, and where. */
export interface Sight {
  place: string | undefined;
  report: KillReport | undefined;
}

export async function openSession<Deps extends SessionDeps>(
  lease: SessionLease,
  options: Deps,
  job: AbortSignal,
  sight: Sight = nothingSeen,
): Promise<HeldSession & { options: Deps }> {
  const { head } = lease.found;
  const claimedAt = readHeadNumber(options.redis, lease.thread, "claimedAt", head["claimedAt"]);
  const readAt = performance.now();
  const found = readLostHolders(options.redis, lease.thread, head);
  const pendingEdits: Promise<void>[] = [];
  let leaving = new AbortController();
  const undone = readUndone(options.redis, lease.thread, head);
  const journal = await loadJournal(options.redis, lease.thread, lease.found.journal, undone);
  // The head changes with the same write as the journal: where no turn runs, the end of the last one cannot be read.
  if (head["status"] !== "running") journal.replay.closeTurn();
  const told = readHeadNumber(options.redis, lease.thread, "told", head["told"]);
  const session: HeldSession & { options: Deps } = {
    ...{ lease, options, job, pendingEdits, head, journal },
    cancelled: { ...journal.withdrawn, told },
    claims: lease.claimsWithoutProgress,
    lost: found.filter((each) => !hasEnded(each, sight, claimedAt)),
    ended: found.filter((each) => hasEnded(each, sight, claimedAt)),
    told: [],
    clock: () => claimedAt + (performance.now() - readAt),
    listedSince: undefined,
    retryAt: undefined,
    editsPendingSince: undefined,
    looks: 0,
    async abandonPendingEdits() {
      leaving.abort();
      leaving = new AbortController();
      await Promise.allSettled(pendingEdits.splice(0));
    },
    async flush(quiet) {
      session.head = undefined;
      const flushed = await options.flushOutbox(lease, AbortSignal.any([job, leaving.signal]), quiet);
      pendingEdits.push(flushed.rest);
      session.retryAt = flushed.retryAt;
      // Whoever waits for it at the end is told of a failure.
      flushed.rest.catch(() => undefined);
    },
  };
  await nameCommands(session);
  return session;
}

/** The session's state as its journal stands. Each record is replayed once a claim. */
export function readHistory({ lease, journal, lost }: HeldSession): History {
  const { records, chars } = lease.written();
  addTail(journal, records, chars);
  const history = journal.replay.history();
  const former = lost.find((each) => !isAboutJobs(each));
  if (!former) return history;
  const mayRun = describeForModel(former);
  return { ...history, open: history.open.map((entry) => (entry.started ? { ...entry, mayRun } : entry)) };
}

/** A snapshot is made of no less than this: a claim reads so much in a few milliseconds. */
const snapshotFrom = { records: 500, chars: 2_000_000 };

/**
 * Between two turns: spares the next claim what this one has read and written, once that is much, and as much as the
 * last snapshot. So what is written for snapshots is no more than what is written for the journal.
 */
export async function keepSnapshot({ lease, journal, cancelled }: HeldSession): Promise<void> {
  const { replay, tail, snapshotChars, lastEnd, hasGap, wasSurveyed } = journal;
  const isMuch = wasSurveyed || tail.records >= snapshotFrom.records || tail.chars >= snapshotFrom.chars;
  if (!isMuch || tail.chars < snapshotChars || hasGap || listUnnotified(cancelled).length > 0) return;
  const { turn, messages, chosenModel } = replay.history();
  if (turn) return;
  const withdrawn = cancelled.before + cancelled.messages.length;
  let chars = 0;
  const kept = await lease.keepSnapshot(async function* (position) {
    for await (const lines of serializeSnapshot({ position, messages, chosenModel, withdrawn, lastEnd })) {
      chars += charsOf(lines);
      yield lines;
    }
  });
  if (kept === undefined) return;
  journal.tail = { records: 0, chars: 0 };
  journal.snapshotChars = chars;
  journal.wasSurveyed = false;
}

/** Notes what a holder that was lost was in the middle of: whoever holds the session later finds it answered. */
async function nameCommands(session: HeldSession): Promise<void> {
  const { open } = readHistory(session);
  const unnamed = session.lost.filter(({ commands }) => !commands);
  for (const lost of unnamed) lost.commands = nameCalls(open);
  if (unnamed.length === 0) return;
  await session.lease.append([], { fields: Object.assign({}, ...unnamed.map(writeLost)) });
}

/** A platform that lets marks and edits wait for longer than this would hold a slot of others with them, ms. */
const editPatienceMs = 2_000;

/** What was left is tried again after so long, and up to twice that, so that threads do not come back together, ms. */
const editRetryMs = 30_000;

/** How marks and edits stand: `later` from when on a later claim has to see to them, ms since the epoch. */
type PendingEdits = { isDone: boolean; later?: number };

/**
 * Waits a moment for marks and edits, if there are any. From when on the session has waited for nothing else for some
 * time, they are left to a later claim: neither others who wait for a slot nor what comes next here wait with them.
 */
export async function awaitPendingEdits(
  session: HeldSession,
  momentMs = editPatienceMs,
): Promise<PendingEdits> {
  const isQuiet = Promise.all(session.pendingEdits).then(() => true);
  if (await Promise.race([isQuiet, delay(momentMs, false, { ref: false })])) return { isDone: true };
  session.editsPendingSince ??= performance.now() - momentMs;
  if (performance.now() - session.editsPendingSince < editPatienceMs) return { isDone: false };
  await session.abandonPendingEdits();
  return { isDone: true, later: session.options.now() + editRetryMs * (1 + Math.random()) };
}

/** When there is something to do there whatever comes: people were promised a word, or an answer waits. ms since the epoch */
export function listWakeTimes({ lost, told, retryAt }: HeldSession): number[] {
  const promised = [...lost, ...told].flatMap((each) => (each.told ? (endsBy(each) ?? []) : []));
  return retryAt === undefined ? promised : [...promised, retryAt];
}

/** Those of which it is not known yet that what they ran has ended. */
export function listUnproven({ lost, clock }: HeldSession): LostHolder[] {
  return lost.filter((each) => !hasEnded(each, nothingSeen, clock()));
}

/** Asks what those who were lost have reported since the claim. */
export async function hearReportedEnds({ lease, lost }: HeldSession): Promise<void> {
  if (lost.length > 0) hearReports(lost, await lease.head());
}

const nothingSeen: Sight = { place: undefined, report: undefined };

export async function readHead(session: HeldSession): Promise<Record<string, string>> {
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
