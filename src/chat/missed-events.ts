import type { BaseLogger } from "pino";

/** How often it is recorded that the adapter is connected. */
const heartbeatMs = 10_000;
/** How soon an event that could not be stored is looked for. */
const retryMs = 1_000;

/** Watches whether a connection to a platform misses events, and catches up when it may have. */
export interface CatchUp {
  /** @param isGapless whether the platform has delivered everything since the last connection */
  connected(isGapless: boolean): void;
  disconnected(): void;
  /** An event was delivered but could not be stored. */
  missed(): void;
  /** Abandons a catch-up that may be waiting for rate limits: the next process that connects repeats it. */
  close(): void;
}

/** What an adapter does to catch up. */
export interface CatchUpWork {
  /** Hands in what was missed. When it rejects, all of it is retried: intake drops duplicates. */
  catchUp(): Promise<void>;
  /** Records that everything sent until now was delivered or will be. Called regularly while that is so. */
  markConnected(): Promise<void>;
}

/**
 * Catches up whenever something may have been missed, and records regularly that nothing is, while connected.
 *
 * @example
 * const catchUp = catchUpOnReconnect("Slack", { catchUp: readBack, markConnected: heartbeat }, log);
 * socket.on("open", () => catchUp.connected(false));
 * socket.on("close", () => catchUp.disconnected());
 */
export function catchUpOnReconnect(platform: string, work: CatchUpWork, log: BaseLogger): CatchUp {
  let isConnected = false;
  let isClosed = false;
  /** Counts gaps: a catch-up that started before the latest gap does not cover it. */
  let gaps = 0;
  let coveredGaps = -1;
  let running: Promise<void> | undefined;
  let retry: NodeJS.Timeout | undefined;
  const run = async () => {
    try {
      const until = gaps;
      if (coveredGaps !== until) await work.catchUp();
      coveredGaps = until;
      // An abandoned catch-up has not read everything.
      if (isConnected && !isClosed && gaps === until) await work.markConnected();
    } catch (error) {
      if (!isClosed)
        log.warn({ err: error }, `Heddle could not check for missed ${platform} messages; it will retry.`);
    }
    running = undefined;
  };
  const tick = () => {
    if (isConnected && !isClosed) running ??= run();
  };
  const timer = setInterval(tick, heartbeatMs);
  return {
    connected(isGapless) {
      isConnected = true;
      if (!isGapless) gaps += 1;
      tick();
    },
    disconnected() {
      isConnected = false;
    },
    missed() {
      gaps += 1;
      retry ??= setTimeout(() => {
        retry = undefined;
        tick();
      }, retryMs);
    },
    close() {
      clearInterval(timer);
      clearTimeout(retry);
      isClosed = true;
    },
  };
}
