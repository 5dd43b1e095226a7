import type { StopOrder, TurnOutcome } from "../../agent/events.ts";
import { measureWorkedMs } from "../../agent/journal/history.ts";
import { answerNow } from "../../agent/journal/unfinished-calls.ts";
import { nothingKilled } from "../../sandbox/sandbox.ts";
import { listUnnotified } from "../session/mailbox/cancelled-messages.ts";
import type { BackgroundJobs } from "./background-jobs.ts";
import {
  type CurrentTurn,
  type HeldSession,
  listUnproven,
  readHead,
  readHistory,
} from "./claimed-session.ts";
import type { Receipt } from "./contracts.ts";
import { describeUnproven } from "./lost-holders.ts";
import { endsTurn, msSinceOrder } from "./stops.ts";
import { announceTurn, finishTurn, openDisplay, recordDecisions } from "./turn-phases.ts";

/**
 * Ends a turn on a stop while no worker is at it, because it waits for people or was handed over: whoever let go of it has
 * ended all that it ran, so that its calls need nothing but their answers. False when there is nothing that can be ended
 * so: the order is older than the turn, or it is not known that an earlier worker's commands have ended.
 */
export async function endUnheldTurn(
  session: HeldSession,
  order: StopOrder,
  background?: Pick<BackgroundJobs, "ended">,
): Promise<boolean> {
  const { lease, options, cancelled } = session;
  const history = readHistory(session);
  const { turn } = history;
  if (!turn || !endsTurn(order, turn) || listUnproven(session).length > 0) return false;
  const head = await readHead(session);
  const current: CurrentTurn = { turn, history, head, display: openDisplay(session, turn, true, head) };
  try {
    await recordDecisions(session, current);
    await announceTurn(session, current);
    const cutOff = await answerCalls(session, current, order);
    const jobs = await background?.ended(lease.thread, order);
    const { silent = [] } = jobs ?? {};
    session.told.push(...silent);
    cancelled.messages.push(...(await lease.withdraw()));
    const { steps, usage } = current.turn;
    const outcome: TurnOutcome = { kind: "stopped", order, steps, usage };
    const stopMs = await msSinceOrder(options.redis, order);
    const receipt: Receipt = {
      outcome,
      durationMs: measureWorkedMs(current.turn, options.now()),
      killed: jobs?.killed ?? nothingKilled,
      ...(silent.length > 0
        ? { unproven: silent.map((lost) => describeUnproven(lost, session.clock())) }
        : { cutOff }),
      ...(stopMs !== undefined && { stopMs }),
      withdrawn: listUnnotified(cancelled),
    };
    await finishTurn(session, current, receipt);
    await jobs?.forget();
    return true;
  } catch (error) {
    void current.display.close();
    throw error;
  }
}

/** Gives each call without a result the one that a stop leaves it. @returns how many had been started */
async function answerCalls(
  { lease, options }: HeldSession,
  { history, display }: CurrentTurn,
  order: StopOrder,
): Promise<number> {
  const answers = history.open.flatMap((entry) => answerNow(entry, order) ?? []);
  const results = answers.map((message) => ({ message, durationMs: 0 }));
  const at = options.now();
  await lease.append(results.map((result) => ({ type: "tool-result", ...result, at })));
  for (const result of results) display.event({ type: "tool-end", step: 0, ...result });
  return history.open.filter(({ started }) => started).length;
}
