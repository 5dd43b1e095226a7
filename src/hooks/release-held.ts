import type { TriggerSettings } from "../config/triggers.ts";
import { findQuietEnd } from "./quiet-hours.ts";
import { createHeldRelease, type ReleaseOptions } from "./receive-event.ts";

/** What waits is looked for at least so often: another gateway may have stored it, and died, ms. */
const lookMs = 60_000;

/**
 * Puts what has come in quiet hours into its threads when they end. Every gateway does; each event goes there once.
 * @returns what ends it, once nothing is under way
 */
export function releaseAfterQuietHours(
  options: ReleaseOptions,
  triggers: ReadonlyMap<string, TriggerSettings>,
): { close(): Promise<void> } {
  const release = createHeldRelease(options);
  const running = [...triggers].map(([name, trigger]) => {
    // Also where there are none any more: what was held before the settings were changed waits for nothing else.
    const findEnd = (now: number) => trigger.quietHours && findQuietEnd(trigger.quietHours, now);
    let timer: NodeJS.Timeout | undefined;
    let isClosed = false;
    const look = async (): Promise<void> => {
      try {
        if (findEnd(options.now()) === undefined) await release(name, trigger);
      } catch (error) {
        options.onProblem(`What waits for the end of the quiet hours of the trigger ${name} stays.`, error);
      }
      if (isClosed) return;
      const now = options.now();
      const left = (findEnd(now) ?? Infinity) - now;
      const again = () => void (looking = look());
      timer = setTimeout(again, Math.max(1, Math.min(left, lookMs))).unref();
    };
    let looking = look();
    return async () => {
      isClosed = true;
      clearTimeout(timer);
      await looking;
    };
  });
  return {
    async close() {
      await Promise.all(running.map((close) => close()));
    },
  };
}
