import type { Receiver } from "@slack/bolt";
import type { BaseLogger } from "pino";
import { explainOutage } from "../../../chat/outage.ts";

/** How Slack's events reach this process. */
export interface EventTransport {
  receiver: Receiver;
  /** Resolves once events can arrive; rejects with an error that names the wrong token or setting and the fix. */
  open(listener: { connected(): void; disconnected(): void }): Promise<void>;
  /** Takes no more events. @param finish resolves when those being handled are acknowledged */
  close(finish: () => Promise<void>): Promise<void>;
}

/** Logs why an event was not acknowledged. */
export function logUnacknowledged(log: BaseLogger, error: Error): void {
  // Bolt wraps what is not its own.
  const err = "original" in error ? error.original : error;
  const problem = "A Slack event was not acknowledged, so Slack will send it again";
  const outage = explainOutage(err);
  // A sentence, and no defect whose place is sought.
  if (outage !== undefined) log.warn(`${problem}: ${outage}`);
  else log.error({ err }, `${problem}.`);
}
