import type { BaseLogger } from "pino";

/** How often it is noted that somebody listens. */
const presenceMs = 10_000;
/** How soon an event is looked for that could not be kept. */
const againMs = 1_000;

/** Whether a connection to a platform misses events, and what is done about it. */
export interface CatchUp {
  /** @param isGapless whether the platform has sent what was missed in between */
  connected(isGapless: boolean): void;
  disconnected(): void;
  /** An event has arrived and could not be kept. */
  missed(): void;
  /** Gives up a catch-up, which may wait for the platform's limits: whoever listens next does it again. */
  close(): void;
}

/** Catches up where something may have been missed; then it notes regularly that nothing is, while connected. */
export function catchUpOnReconnect(
  platform: string,
  work: { catchUp(): Promise<void>; present(): Promise<void> },
  log: BaseLogger,
): CatchUp {
  let isConnected = false;
  let isClosed = false;
  /** Counts gaps: what was read before one has no say about it. */
  let gaps = 0;
  let caughtUp = -1;
  let working: Promise<void> | undefined;
  let retry: NodeJS.Timeout | undefined;
  const look = async () => {
    try {
      const until = gaps;
      if (caughtUp !== until) await work.catchUp();
      caughtUp = until;
      // A catch-up that was given up has not heard everything.
      if (isConnected && !isClosed && gaps === until) await work.present();
    } catch (error) {
      if (!isClosed)
        log.warn(
          { err: error },
          `It could not be found out whether ${platform} messages were missed; it is tried again.`,
        );
    }
    working = undefined;
  };
  const tick = () => {
    if (isConnected && !isClosed) working ??= look();
  };
  const timer = setInterval(tick, presenceMs);
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
      }, againMs);
    },
    close() {
      clearInterval(timer);
      clearTimeout(retry);
      isClosed = true;
    },
  };
}
