import { setTimeout as delay } from "node:timers/promises";

/** @throws the signal's reason when it is aborted */
export async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {
    throw signal.reason;
  });
}
