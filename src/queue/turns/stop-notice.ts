import type { StopOrder, TurnOutcome } from "../../agent/events.ts";
import { noUsage } from "../../agent/model.ts";
import type { OutboxEntry } from "../outbox/contracts.ts";
import { listUnnotified, markNotified, setNotified } from "../session/mailbox/cancelled-messages.ts";
import type { BackgroundJobs } from "./background-jobs.ts";
import type { HeldSession } from "./claimed-session.ts";
import type { Receipt } from "./contracts.ts";
import { describeUnproven, writeLost } from "./lost-holders.ts";
import { msSinceOrder, readStop } from "./stops.ts";

/** What a stop has ended with no turn running, waiting messages and background jobs: the thread is told, not the model. */
export async function notifyStopped(
  session: HeldSession,
  stop?: StopOrder,
  background?: Pick<BackgroundJobs, "ended">,
): Promise<void> {
  const { lease, options, flush, cancelled } = session;
  const withdrawn = listUnnotified(cancelled);
  const jobs = stop && (await background?.ended(lease.thread, stop));
  if (withdrawn.length === 0 && !jobs) return;
  const { silent = [] } = jobs ?? {};
  const startedAt = options.now();
  // An order is forgotten after a day.
  const order = stop ?? (await readStop(options.redis, lease.thread)) ?? { by: "somebody", at: startedAt };
  const display = options.display(lease, {
    id: options.newId(),
    startedAt,
    resumed: false,
    progress: undefined,
    calls: [],
  });
  const outcome: TurnOutcome = { kind: "stopped", order, steps: 0, usage: noUsage };
  const stopMs = jobs && (await msSinceOrder(options.redis, order));
  const receipt: Receipt = {
    outcome,
    durationMs: 0,
    withdrawn,
    ...(jobs && { killed: jobs.killed }),
    unproven: silent.map((lost) => describeUnproven(lost, session.clock())),
    ...(stopMs !== undefined && { stopMs }),
  };
  await lease.append([], {
    fields: { ...markNotified(cancelled), ...Object.assign({}, ...silent.map(writeLost)) },
    outbox: serializeEntries(display.closing(receipt)),
  });
  setNotified(cancelled);
  session.told.push(...silent);
  await jobs?.forget();
  await flush(display.close());
  display.ended(receipt);
}

/** Entries as the outbox keeps them. */
export function serializeEntries(entries: Record<string, OutboxEntry>): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).map(([key, entry]) => [key, JSON.stringify(entry)]));
}
