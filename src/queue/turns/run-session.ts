import type { JournalRecord } from "../../agent/journal/journal.ts";
import { monotonicMs } from "../../sandbox/monotonic.ts";
import { tryClaimSession } from "../session/claim.ts";
import { LeaseLost, type SessionLease } from "../session/lease.ts";
import { readListedAt, unlist } from "../session/lists/sweep-list.ts";
import { carryOutUndo } from "../undo/carry-out.ts";
import {
  awaitPendingEdits,
  type ClaimedSession,
  createStopFeed,
  type CurrentTurn,
  keepSnapshot,
  listWakeTimes,
  openSession,
  readHead,
  readHistory,
  type Sight,
  type StopFeed,
} from "./claimed-session.ts";
import type { SessionRunnerOptions } from "./contracts.ts";
import { keepConfirmed } from "./keep-confirmed.ts";
import { endsBy, forgetLost, isAboutJobs, type LostHolder, reportEnds, tellEnded } from "./lost-holders.ts";
import { parkTurn } from "./park-turn.ts";
import { runOneTurn } from "./run-one-turn.ts";
import { notifyStopped, serializeEntries } from "./stop-notice.ts";
import { endsTurn, readStop } from "./stops.ts";
import { announceTurn, finishTurn, openDisplay, recordDecisions } from "./turn-phases.ts";
import type { SessionRunner, SessionRunResult } from "./turn-worker.ts";

/** After so many claims in a row without a new record the turn is ended instead of tried again. */
const claimsBeforeGivingUp = 4;
/** While marks are still being made: how often the mailbox is looked into, ms. */
const lookAgainMs = 500;

/** Drives one thread until its mailbox is empty: claims it, resumes what was interrupted, runs turn after turn. */
export function createSessionRunner(options: SessionRunnerOptions): SessionRunner {
  return async (thread, job) => {
    const orders = createStopFeed();
    // Before the claim, which reads the newest order: none can come between unnoticed.
    const unlisten = options.stops.listen(thread, orders.hear);
    try {
      const claimingAt = monotonicMs();
      const holder = JSON.stringify(options.holder);
      const { expireSeconds } = options;
      // Whoever has missed two times in a row may still come back; after an outage nobody could say anything.
      const graceMs = options.contact.isSteady() ? options.confirmMs * 3 : Number.MAX_SAFE_INTEGER;
      const lease = await tryClaimSession(options.redis, thread, { expireSeconds, holder, graceMs });
      if (!lease) return "held";
      options.processes.confirm(thread, { at: claimingAt, claim: lease.claim });
      // Before anything is done for the thread: two workers must not write into its workspace.
      const seen = await options.processes.takeOver(thread, lease.claim);
      const sight = { place: options.processes.place(), report: seen };
      const result = await runClaimed(lease, options, { orders, job, sight });
      // Not told by the clock alone: whoever went on may have told people that it does not know.
      if (result === "lost") await reportOwnEnds(lease, options).catch(() => undefined);
      return result;
    } finally {
      unlisten();
    }
  };
}

async function runClaimed(
  lease: SessionLease,
  options: SessionRunnerOptions,
  { orders, job, sight }: { orders: StopFeed; job: AbortSignal; sight: Sight },
): Promise<SessionRunResult> {
  const keeping = keepConfirmed(lease, options);
  try {
    if (lease.found.stop) orders.hear(lease.found.stop);
    const session = await openSession(lease, options, AbortSignal.any([job, keeping.lost]), sight);
    return await runSession(Object.assign(session, { orders }));
  } catch (error) {
    // Somebody else owns the session and goes on; whatever this worker still wanted to say is void.
    if (error instanceof LeaseLost) return "lost";
    throw error;
  } finally {
    keeping.stop();
  }
}

/** Tells whoever has gone on with the session that what ran here on this claim has ended, once that was seen. */
async function reportOwnEnds(
  { thread, claim }: SessionLease,
  { redis, processes, holder, wake }: SessionRunnerOptions,
): Promise<void> {
  const seen = await processes.endOwn(thread, claim);
  if (seen?.survivors !== 0) return;
  const isOwn = (lost: LostHolder) => !isAboutJobs(lost) && lost.holder?.id === holder.id;
  if (await reportEnds(redis, thread, isOwn)) await wake(thread);
}

async function runSession(session: ClaimedSession): Promise<SessionRunResult> {
  try {
    await tellWhatEnded(session);
    if (Object.keys(session.lease.found.outbox).length > 0) await session.flush(Promise.resolve(true));
    await hearMissedStops(session);
    if (session.options.undo) await carryOutUndo(session, session.options.undo);
    while (!session.job.aborted) {
      const result = await runNextTurn(session);
      if (result === "shutdown") break;
      if (result !== "next") return result;
    }
    await session.lease.append([], { fields: { handover: "1" } });
    return "handover";
  } finally {
    // Whoever closes the worker closes the connections next.
    await Promise.allSettled(session.pendingEdits);
  }
}

/** Makes sure that a stop which was placed while nobody listened is heard before anything is done. */
async function hearMissedStops({ lease, options, job, orders, journal }: ClaimedSession): Promise<void> {
  const { turn } = journal.replay.history();
  const isInterrupted = turn !== undefined;
  // It is known already.
  if (turn && lease.found.stop && endsTurn(lease.found.stop, turn)) return;
  if (!(await options.catchUpHold.wait(lease.thread, isInterrupted, job))) return;
  // The word of it may still be on its way.
  const stop = await readStop(options.redis, lease.thread);
  if (stop) orders.hear(stop);
}

/** The phases of a turn. `next`: there may be another one. `shutdown`: this worker is to leave the turn to another. */
async function runNextTurn(session: ClaimedSession): Promise<"done" | "lost" | "next" | "shutdown"> {
  const current = await openTurn(session);
  if (current) session.editsPendingSince = undefined;
  if (!current) return (await becomeIdle(session)) ? "done" : "next";
  await recordDecisions(session, current);
  if (await parkTurn(session, current)) return "done";
  await announceTurn(session, current);
  try {
    const isStuck = session.claims >= claimsBeforeGivingUp;
    session.claims = 1;
    const { receipt, elsewhere } = await runOneTurn(session, current, { isStuck });
    switch (receipt.outcome.kind) {
      case "lost-lease":
        return "lost";
      case "suspended":
        return "shutdown";
      case "waiting":
        // They may have decided already.
        await showWaiting(session, current);
        return "next";
      case "answered":
      case "stopped":
      case "step-limit":
      case "budget":
      case "refused":
      case "model-error":
        await finishTurn(session, current, receipt);
        await elsewhere?.forget();
        return "next";
    }
  } catch (error) {
    // It would go on telling that the agent works.
    void current.display.close();
    throw error;
  }
}

/** Goes on with the turn that the journal has open, or begins one with what waits; undefined when nothing does. */
async function openTurn(session: ClaimedSession): Promise<CurrentTurn | undefined> {
  const { lease, options, cancelled, orders } = session;
  // Most claims find something at the first look, which then needs no time to compare with.
  session.looks += 1;
  session.listedSince = session.looks > 1 ? await readListedAt(options.redis, lease.thread) : undefined;
  let history = readHistory(session);
  const resumed = history.turn !== undefined;
  if (!resumed) {
    await keepSnapshot(session);
    const start: JournalRecord = { type: "turn-start", turn: options.newId(), at: options.now() };
    const { taken, withdrawn, stop } = await lease.take(start);
    if (stop) orders.hear(stop);
    cancelled.messages.push(...withdrawn);
    await notifyStopped(session, stop, options.background);
    if (taken.length === 0) return undefined;
    history = readHistory(session);
  }
  // Withdrawn by a worker that died before it could say so.
  await notifyStopped(session);
  const { turn } = history;
  if (!turn) throw new Error(`The journal of ${lease.thread} has no turn after its start was written.`);
  const head = await readHead(session);
  return { turn, history, head, display: openDisplay(session, turn, resumed, head) };
}

/** Takes the thread off the sweeper's list; false when something may have come, or still has to be done. */
async function becomeIdle(session: ClaimedSession): Promise<boolean> {
  const { lease, options, job, listedSince } = session;
  // The platform may let marks wait for a minute, and a new message must not wait with them.
  const rest = await awaitPendingEdits(session, lookAgainMs);
  // What a shutdown has cut short is left to the next worker.
  if (!rest.isDone || job.aborted || listedSince === undefined) return false;
  const times = [...listWakeTimes(session), rest.later ?? []].flat();
  const wakeAt = times.length > 0 ? Math.min(...times) : undefined;
  await unlist(options.redis, lease.thread, listedSince, wakeAt);
  return true;
}

/** Whether people were told that they would be. */
function isPromised(lost: LostHolder): boolean {
  return lost.told === true && endsBy(lost) !== undefined;
}

/** Tells people that what was not known to have ended has ended: with the same write it is forgotten, so once. */
async function tellWhatEnded({ lease, ended, flush }: ClaimedSession): Promise<void> {
  if (ended.length === 0) return;
  const outbox = Object.assign({}, ...ended.filter(isPromised).map(tellEnded));
  await lease.append([], {
    fields: forgetLost(ended),
    outbox: serializeEntries(outbox),
  });
  await flush(Promise.resolve(true));
}

async function showWaiting({ lease, flush }: ClaimedSession, { display }: CurrentTurn): Promise<void> {
  await lease.append([], { outbox: serializeEntries(display.waiting()) });
  await flush(display.close());
}
