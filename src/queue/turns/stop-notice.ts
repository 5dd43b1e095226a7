import type { StopOrder, TurnOutcome } from "../../agent/events.ts";
import { noUsage } from "../../agent/model.ts";
import type { OutboxEntry } from "../outbox/contracts.ts";
import { toldOf, untold, type Withdrawals } from "../session/cancelled-messages.ts";
import type { SessionLease } from "../session/lease.ts";
import { type DriveOptions, noChanges, type Receipt } from "./contracts.ts";
import { readStop, sinceOrder } from "./stops.ts";

/** Does what the outbox holds. @param quiet see `OutboxOptions` */
export type Flush = (quiet: Promise<boolean>) => Promise<void>;

/** What a stop has ended with no turn running, waiting messages and background jobs: the thread is told, not the model. */
export async function tellStopped(
  lease: SessionLease,
  options: DriveOptions,
  flush: Flush,
  withdrawals: Withdrawals,
  stop?: StopOrder,
): Promise<void> {
  const withdrawn = untold(withdrawals);
  const jobs = stop && (await options.background.ended(lease.thread, stop));
  if (withdrawn.length === 0 && !jobs) return;
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
  const stopMs = jobs && (await sinceOrder(options.redis, order));
  const receipt: Receipt = {
    outcome,
    durationMs: 0,
    files: noChanges,
    withdrawn,
    ...(jobs && { killed: jobs.killed, silent: jobs.silent }),
    ...(stopMs !== undefined && { stopMs }),
  };
  await lease.append([], { fields: toldOf(withdrawals), outbox: stored(display.closing(receipt)) });
  withdrawals.told = withdrawals.messages.length;
  await jobs?.forget();
  await flush(display.close());
  display.ended(receipt);
}

/** Entries as the outbox keeps them. */
export function stored(entries: Record<string, OutboxEntry>): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).map(([key, entry]) => [key, JSON.stringify(entry)]));
}
