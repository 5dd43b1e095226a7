import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { type History, isUndecided, type OpenCall, type OpenTurn, replay } from "../../agent/history.ts";
import type { JournalRecord } from "../../agent/journal.ts";
import { isFromPerson } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { type CancelledMessages, findCancelled, markNotified } from "../session/cancelled-messages.ts";
import { type Change, claimSession, LeaseLost, type SessionLease, touchSession } from "../session/lease.ts";
import { abandonQuestions, collectDecisions, mergeChanges } from "../session/open-questions.ts";
import { closeContinueOffer } from "../session/paused-turn.ts";
import { readListedAt, unlist } from "../session/sweep-list.ts";
import { readHeadNumber, readMessageRef } from "../session/stored.ts";
import { readVerbosity } from "../session/verbosity.ts";
import type { Receipt, SessionRunnerOptions, TurnDisplay } from "./contracts.ts";
import { runOneTurn } from "./run-turn.ts";
import { type Flush, notifyStopped, serializeEntries } from "./stop-notice.ts";
import { isOver, readStop } from "./stops.ts";
import type { SessionRunner, SessionRunResult } from "./turn-worker.ts";

/** After so many claims in a row without a new record the turn is ended instead of tried again. */
const claimsBeforeGivingUp = 4;
/** While marks are still being made: how often the mailbox is looked into, ms. */
const lookAgainMs = 500;

/** Drives one thread until its mailbox is empty: claims it, resumes what was interrupted, runs turn after turn. */
export function createSessionRunner(options: SessionRunnerOptions): SessionRunner {
  return async (thread, jobSignal) => {
    const lease = await claimSession(options.redis, thread);
    await touchSession(options.redis, thread, options.expireSeconds);
    try {
      return await runSession(lease, options, jobSignal);
    } catch (error) {
      // Somebody else owns the session and goes on; whatever this worker still wanted to say is void.
      if (error instanceof LeaseLost) return "lost";
      throw error;
    }
  };
}

async function runSession(
  lease: SessionLease,
  options: SessionRunnerOptions,
  job: AbortSignal,
): Promise<SessionRunResult> {
  /** Marks and edits. They may take longer than the next turn, but not longer than this claim. */
  const rest: Promise<void>[] = [];
  try {
    return await runTurns(lease, options, job, rest);
  } finally {
    // Whoever closes the worker closes the connections next.
    await Promise.allSettled(rest);
  }
}

async function runTurns(
  lease: SessionLease,
  options: SessionRunnerOptions,
  job: AbortSignal,
  rest: Promise<void>[],
): Promise<SessionRunResult> {
  const { thread } = lease;
  // Of the turn that this claim has found; none of a later one.
  let claims = lease.claimsWithoutProgress;
  const flush = async (quiet: Promise<boolean>) => {
    const flushed = await options.flushOutbox(lease, job, quiet);
    rest.push(flushed.rest);
    // Who waits for them below is told of a failure.
    flushed.rest.catch(() => undefined);
  };
  await flush(Promise.resolve(true));
  while (!job.aborted) {
    const listedSince = await readListedAt(options.redis, thread);
    const head = await lease.head();
    const records = await lease.read();
    let history = replay(records);
    const resumed = history.turn !== undefined;
    const cancelled = findCancelled(records, readHeadNumber(options.redis, thread, "told", head["told"]));
    if (!resumed) {
      const start: JournalRecord = { type: "turn-start", turn: options.newId(), at: options.now() };
      const { taken, withdrawn, stop } = await lease.take(start);
      cancelled.messages.push(...withdrawn);
      await notifyStopped(lease, options, flush, cancelled, stop);
      if (taken.length === 0) {
        // The platform may let marks wait for a minute, and a new message must not wait with them.
        const isQuiet = await Promise.race([
          Promise.all(rest).then(() => true),
          delay(lookAgainMs, false, { ref: false }),
        ]);
        // What a shutdown has cut short is left to the next worker.
        if (!isQuiet || job.aborted) continue;
        await unlist(options.redis, thread, listedSince);
        return "done";
      }
      history = replay([...records, start, ...taken.map((message) => ({ type: "user", message }) as const)]);
    }
    // Withdrawn by a worker that died before it could say so.
    await notifyStopped(lease, options, flush, cancelled);
    const { turn } = history;
    if (!turn) throw new Error(`The journal of ${thread} has no turn after its start was written.`);

    const progress = readMessageRef(options.redis, thread, "progress", head["progress"]);
    const display = options.display(lease, {
      id: turn.id,
      startedAt: turn.startedAt,
      resumed,
      progress,
      calls: turn.calls,
      verbosity: readVerbosity(head["verbosity"]),
    });
    const { redis } = options;
    const news = await collectDecisions(redis, thread, history.open, display.settled, options.now());
    if (news.records.length > 0) {
      await lease.append(news.records, news.change);
      history = replay([...records, ...news.records]);
      await flush(Promise.resolve(true));
    }
    const until = await parkedUntil(redis, thread, history);
    if (until !== undefined) {
      // Coming back is no sign of a crash.
      await lease.append([], { fields: { handover: "1" } });
      const openSeconds = Math.ceil((until - options.now()) / 1_000);
      await touchSession(options.redis, thread, openSeconds + options.expireSeconds);
      await Promise.all([...rest, display.close()]);
      await unlist(options.redis, thread, listedSince, until);
      return "done";
    }
    const offer = closeContinueOffer(head, records, (paused) =>
      display.continued(paused, turn.asked[0]?.author.name ?? "somebody"),
    );
    if (offer) {
      await lease.append([], { outbox: serializeEntries(offer) });
      await flush(Promise.resolve(true));
    }
    display.took(turn.asked);
    const isStuck = claims >= claimsBeforeGivingUp;
    claims = 1;
    try {
      const current = { turn, history, display, cancelled, isStuck };
      const { receipt, elsewhere } = await runOneTurn(lease, options, job, current);
      if (receipt.outcome.kind === "lost-lease") return "lost";
      if (receipt.outcome.kind === "suspended") break;
      if (receipt.outcome.kind === "waiting") {
        await lease.append([], { outbox: serializeEntries(display.waiting()) });
        await flush(display.close());
        // They may have decided already.
        continue;
      }
      await endTurn(lease, options, flush, {
        display,
        turn,
        receipt,
        cancelled,
        open: history.open,
        cost: readHeadNumber(redis, thread, "cost", head["cost"]) + receipt.outcome.usage.cost,
      });
      await elsewhere?.forget();
    } catch (error) {
      // It would go on telling that the agent works.
      void display.close();
      throw error;
    }
  }
  await lease.append([], { fields: { handover: "1" } });
  return "handover";
}

/**
 * While the turn can do nothing but wait for people: when their time is over, ms. Undefined when it can go on, also
 * to its end by a stop.
 */
async function parkedUntil(
  redis: Redis,
  thread: ThreadId,
  { open, turn }: History,
): Promise<number | undefined> {
  const [next] = open;
  if (!next || !isUndecided(next)) return undefined;
  const stop = await readStop(redis, thread);
  if (stop && stop.at >= (turn?.since ?? 0)) return undefined;
  return Math.min(...open.filter(isUndecided).map(({ question }) => question.expiresAt));
}

async function endTurn(
  lease: SessionLease,
  options: SessionRunnerOptions,
  flush: Flush,
  current: {
    display: TurnDisplay;
    turn: OpenTurn;
    receipt: Receipt;
    cancelled: CancelledMessages;
    open: readonly OpenCall[];
    /** Of the session's turns, this one included. */
    cost: number;
  },
): Promise<void> {
  const { display, turn, receipt, cancelled, open, cost } = current;
  const now = options.now();
  const records: JournalRecord[] = [{ type: "turn-end", turn: turn.id, outcome: receipt.outcome, at: now }];
  // A stop ends only what is older: for what it has come too late for, a new turn begins with the same write.
  const newer = turn.asked.filter((message) => isFromPerson(message) && !isOver(message, receipt.outcome));
  if (newer.length > 0) {
    records.push({ type: "turn-start", turn: options.newId(), at: now });
    records.push(...newer.map((message) => ({ type: "user", message }) as const));
  }
  const end: Change = {
    fields: {
      status: newer.length > 0 ? "running" : "idle",
      unsaid: "",
      cost: String(cost),
      ...markNotified(cancelled),
    },
    outbox: serializeEntries(display.closing(receipt)),
  };
  await lease.append(records, mergeChanges([abandonQuestions(open, display.settled), end]));
  await flush(display.close());
  display.ended(receipt);
  await touchSession(options.redis, lease.thread, options.expireSeconds);
}
