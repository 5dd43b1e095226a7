import { consumeEvents } from "../../agent/consume-events.ts";
import type { StopOrder, TurnAbort, TurnOutcome } from "../../agent/events.ts";
import { measureWorkedMs, toRecord } from "../../agent/journal/history.ts";
import type { JournalRecord } from "../../agent/journal/journal.ts";
import { toolCalls } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";
import type { KillReport } from "../../sandbox/sandbox.ts";
import type { Change } from "../session/lease.ts";
import { listUnnotified } from "../session/mailbox/cancelled-messages.ts";
import { askQuestion, mergeChanges } from "../session/questions/open-questions.ts";
import { readApprovals } from "../session/questions/thread-approvals.ts";
import { readThreadModel } from "../session/choices/thread-model.ts";
import { readThreadSkill } from "../session/choices/thread-skill.ts";
import { addKills, type EndedJobs } from "./background-jobs.ts";
import { type ClaimedSession, type CurrentTurn, hearReportedEnds, listUnproven } from "./claimed-session.ts";
import { noChanges, type Receipt } from "./contracts.ts";
import { describeUnproven } from "./lost-holders.ts";
import { endsTurn, msSinceOrder } from "./stops.ts";
import { shutdown } from "./turn-worker.ts";

interface RanTurn {
  receipt: Receipt;
  /** What other workers have ended on its stop; to be forgotten when the receipt is stored. */
  elsewhere?: EndedJobs;
}

/** What ends a turn before its time. */
interface TurnControl {
  signal: AbortSignal;
  abort(reason: TurnAbort): void;
  onStop(order: StopOrder): void;
  /** What was ended at once when the turn was stopped or its worker began to close; undefined until then. */
  findKills(): Promise<KillReport> | undefined;
  release(): void;
}

/**
 * Runs a turn until it ends, is parked, or has to be left to another worker. On a stop everything that it has started
 * is ended before this resolves. What it resolves with is not stored yet.
 *
 * @param how.isStuck it is to end without another try
 */
export async function runOneTurn(
  session: ClaimedSession,
  current: CurrentTurn,
  { isStuck }: { isStuck: boolean },
): Promise<RanTurn> {
  const { lease, options, orders } = session;
  const { turn, display } = current;
  await options.background.resume(lease.thread);
  const control = controlTurn(session, current);
  const unfollow = orders.follow(control.onStop);
  try {
    const outcome: TurnOutcome =
      isStuck && !control.signal.aborted
        ? { kind: "model-error", text: gaveUp, steps: turn.steps, usage: turn.usage }
        : await consume(session, current, control);
    const durationMs = measureWorkedMs(turn, options.now());
    const receipt: Receipt = { outcome, durationMs, files: noChanges, withdrawn: [] };
    if (outcome.kind === "waiting") return { receipt };
    if (outcome.kind === "suspended" || outcome.kind === "lost-lease") {
      // While the session is still held: whoever goes on shows that it works after this.
      if (outcome.kind === "suspended") await display.interrupted();
      void display.close();
      return { receipt };
    }
    return await completeReceipt(session, current, control, receipt);
  } finally {
    unfollow();
    control.release();
    options.runner.forgetTurn(lease.thread);
    await options.background.leave(lease.thread, turn.since);
  }
}

function controlTurn({ lease, options, job }: ClaimedSession, { turn }: CurrentTurn): TurnControl {
  const controller = new AbortController();
  const abort = (reason: TurnAbort) => controller.abort(reason);
  let killing: Promise<KillReport> | undefined;
  const kill = () => {
    const killed = options.runner.killAll(lease.thread);
    // Whoever needs the figures hears of it, which may be later: until then it must not end the worker.
    killed.catch(() => undefined);
    return killed;
  };
  const onJobAbort = () => {
    if (job.reason !== shutdown) return abort({ kind: "lost-lease" });
    killing ??= kill();
    abort({ kind: "shutdown" });
  };
  job.addEventListener("abort", onJobAbort, { once: true });
  if (job.aborted) onJobAbort();
  return {
    signal: controller.signal,
    abort,
    onStop(order) {
      if (!endsTurn(order, turn) || controller.signal.aborted) return;
      // Counting starts before the abort, which ends the same processes.
      killing = kill();
      abort({ kind: "stop", order });
    },
    findKills: () => killing,
    release: () => job.removeEventListener("abort", onJobAbort),
  };
}

/** Adds the facts about the turn's end that the machine knows. */
async function completeReceipt(
  session: ClaimedSession,
  current: CurrentTurn,
  control: TurnControl,
  receipt: Receipt,
): Promise<RanTurn> {
  const { lease, options, cancelled } = session;
  const { turn } = current;
  const { outcome } = receipt;
  const elsewhere =
    outcome.kind === "stopped" ? await endStopped(session, current, control, receipt, outcome) : undefined;
  receipt.withdrawn = listUnnotified(cancelled);
  // A turn of one step has run no tool.
  if (outcome.steps > 1 || receipt.killed) {
    receipt.files = await options.runner.fileChanges(lease.thread, turn.startedAt);
  }
  return { receipt, ...(elsewhere && { elsewhere }) };
}

/** Ends what is left of a stopped turn, here and on other workers, and withdraws what waits behind it. */
async function endStopped(
  session: ClaimedSession,
  { turn, history }: CurrentTurn,
  control: TurnControl,
  receipt: Receipt,
  outcome: Extract<TurnOutcome, { kind: "stopped" }>,
): Promise<EndedJobs | undefined> {
  const { lease, options, cancelled } = session;
  const { thread } = lease;
  const here = addOwnKills(await control.findKills(), await options.runner.killAll(thread));
  const elsewhere = await options.background.ended(thread, outcome.order);
  receipt.killed = elsewhere ? addKills(here, elsewhere.killed) : here;
  const stopMs = await msSinceOrder(options.redis, outcome.order);
  if (stopMs !== undefined) receipt.stopMs = stopMs;
  await hearReportedEnds(session);
  const unproven = [...listUnproven(session), ...(elsewhere?.silent ?? [])];
  if (unproven.length > 0) receipt.unproven = unproven.map((lost) => describeUnproven(lost, session.clock()));
  // After a later step the model knows of them, and the stop has met other calls.
  else if (outcome.steps === turn.steps)
    receipt.cutOff = history.open.filter(({ started }) => started).length;
  session.told.push(...unproven);
  cancelled.messages.push(...(await lease.withdraw()));
  return elsewhere;
}

/** Stores each event before the loop may do anything, then shows it. */
async function consume(
  { lease, options, cancelled, orders }: ClaimedSession,
  { turn, history, head, display }: CurrentTurn,
  control: TurnControl,
): Promise<TurnOutcome> {
  const { abort, signal } = control;
  /** What the next write takes along: the loop does nothing before it. */
  const held: JournalRecord[] = [];
  /** For lists of threads, which do not read the journal: set with the next write. */
  const spent = { cost: turn.usage.cost, isWritten: true };
  const append = async (change: Omit<Change, "done"> = {}) => {
    const told: Change = spent.isWritten ? {} : { fields: { turnCost: String(spent.cost) } };
    spent.isWritten = true;
    await lease.append(held.splice(0), mergeChanges([change, told]));
  };
  const store = async (record?: JournalRecord) => {
    if (record) held.push(record);
    if (held.length > 0) await append();
  };
  /** Calls of the step without a result. */
  let open = history.open.length;
  const events = options.runner.run({
    thread: lease.thread,
    turn: turn.id,
    claim: lease.claim,
    history,
    chosen: { ...readThreadModel(head), ...readThreadSkill(head) },
    areApproved: async (rules) => (await readApprovals(options.redis, lease.thread, rules)) !== undefined,
    followUps: async () => {
      const { taken, withdrawn, stop } = await lease.take(undefined, held.splice(0));
      cancelled.messages.push(...withdrawn);
      // The hint may have been lost; the order itself is always found here.
      if (stop) orders.hear(stop);
      turn.asked.push(...taken);
      if (taken.length > 0) display.took(taken);
      return taken;
    },
    store,
    emit: (event) => display.event(event),
    signal,
  });
  const outcome = await consumeEvents(events, abort, async (event) => {
    if (signal.aborted) await awaitKills(lease.thread, control);
    const record = toRecord(event, options.now());
    if (event.type === "assistant") open = toolCalls(event.message).length;
    if (event.type === "tool-end") open -= 1;
    if ("usage" in event && event.usage) {
      spent.cost += event.usage.cost;
      spent.isWritten = false;
    }
    // Behind a reply with calls comes the start of one, behind the last result the look into the mailbox, and behind what
    // the model is told its reply. Where the turn ends instead, the runner stores it.
    const ridesAlong =
      (event.type === "assistant" && open > 0) ||
      (event.type === "tool-end" && open === 0) ||
      event.type === "nudge";
    const change =
      event.type === "question"
        ? askQuestion(event.question, display.question(event.question, event.call))
        : {};
    if (record) held.push(record);
    if (record && !ridesAlong) await append(change);
    display.event(event);
  });
  // Also where nothing was told any more: a turn that is handed over runs nothing.
  if (signal.aborted) await awaitKills(lease.thread, control);
  await store();
  return outcome;
}

/**
 * Waits until what the turn ran has been seen dead. A tool that is slow to end is given up before that, with a result
 * that says what became of it: that result, and the hand-over behind it, must not be stored while it still runs.
 *
 * @throws Error where a shutdown could not end everything: then the turn is not handed over, and whoever takes it over
 *   from this worker says that its end is not known
 */
async function awaitKills(thread: ThreadId, { signal, findKills }: TurnControl): Promise<void> {
  const killed = await findKills();
  // Nothing else aborts a turn: see TurnAbort. A stop says in its receipt what is left.
  if (!killed || killed.survivors === 0 || (signal.reason as TurnAbort).kind !== "shutdown") return;
  throw new Error(`${killed.survivors} processes of ${thread} are alive after they were killed.`);
}

/** Of the same processes, looked at twice. */
function addOwnKills(first: KillReport | undefined, second: KillReport): KillReport {
  return {
    commands: (first?.commands ?? 0) + second.commands,
    processes: (first?.processes ?? 0) + second.processes,
    survivors: second.survivors,
  };
}

const gaveUp =
  "Heddle was interrupted several times in a row at this point and made no progress, so it gave up. Send another message to try again.";
