import type { BaseLogger } from "pino";

/** How often it is noted that somebody listens. */
const presenceMs = 10_000;

interface Attending {
  connected(): void;
  disconnected(): void;
  close(): Promise<void>;
}

/**
 * Catches up after every new connection. Once that is done, it notes regularly that nothing is missed, until the
 * connection is gone.
 */
export function attend(
  work: { catchUp(): Promise<void>; present(): Promise<void> },
  log: BaseLogger,
): Attending {
  /** Counts connections, and is odd while there is one: what began on an earlier one has no say about a later. */
  let connection = 0;
  let caughtUp = 0;
  let working: Promise<void> | undefined;
  const look = async () => {
    const mine = connection;
    try {
      if (caughtUp !== mine) await work.catchUp();
      caughtUp = mine;
      if (mine === connection) await work.present();
    } catch (error) {
      log.warn(
        { err: error },
        "It could not be found out whether Slack messages were missed; it is tried again.",
      );
    }
    working = undefined;
  };
  const tick = () => {
    if (connection % 2 === 1) working ??= look();
  };
  const timer = setInterval(tick, presenceMs);
  return {
    connected() {
      connection += 1;
      tick();
    },
    disconnected() {
      if (connection % 2 === 1) connection += 1;
    },
    async close() {
      clearInterval(timer);
      connection += connection % 2;
      await working;
    },
  };
}
