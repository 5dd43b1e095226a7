import type { BaseLogger } from "pino";
import { type ConnectionChange, connections } from "./adapter.ts";
import { heartbeatMs } from "./downtime.ts";

/** How often it is recorded that the adapter is connected. */
const presenceMs = 10_000;
/** How soon an event that could not be stored is looked for. */
const retryMs = 1_000;

/** Watches whether a connection to a platform misses events, and catches up when it may have. */
export interface CatchUp {
  /** @param isGapless whether the platform has delivered everything since the last connection */
  connected(isGapless: boolean): void;
  disconnected(): void;
  /** An event was delivered but could not be stored. */
  missed(): void;
  /**
   * Abandons a catch-up that may be waiting for rate limits: the next process that connects repeats it. Resolves when
   * it is recorded that nobody listens here.
   */
  close(): Promise<void>;
}

/** What an adapter does to catch up. */
export interface CatchUpWork {
  /**
   * Hands in what threads with work under way have missed, stops above all, for workers wait for it with turns that
   * were interrupted; gives what then hands in the rest. When either rejects, all of it is retried: intake drops
   * duplicates.
   */
  catchUp(): Promise<() => Promise<void>>;
  /** Records that work under way has missed nothing, and that a stop would be heard. Called regularly while that is so. */
  markListening(): Promise<void>;
  /** Records that stops may be missed from now on. */
  markAway(): Promise<void>;
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
  const setConnected = (connected: boolean) => {
    if (connected === isConnected) return;
    isConnected = connected;
    const change = { platform: platform.toLowerCase(), isConnected } satisfies ConnectionChange;
    connections.publish(change);
  };
  /** Counts gaps: a catch-up that started before the latest gap does not cover it. */
  let gaps = 0;
  let coveredGaps = -1;
  /** The same for what concerns work under way. */
  let coveredOpen = -1;
  let running: Promise<void> | undefined;
  let retry: NodeJS.Timeout | undefined;
  const isListening = () => isConnected && !isClosed && coveredOpen === gaps;
  const tellListening = async () => {
    if (isListening()) await work.markListening();
    // It may have been lost meanwhile.
    if (!isListening()) await work.markAway();
  };
  const tellAway = async () => {
    try {
      await work.markAway();
    } catch (error) {
      log.debug({ err: error }, `Heddle could not record that it does not hear ${platform}.`);
    }
  };
  const run = async () => {
    try {
      const until = gaps;
      if (coveredGaps !== until) {
        const handInRest = await work.catchUp();
        coveredOpen = until;
        await tellListening();
        await handInRest();
      }
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
  const timer = setInterval(tick, presenceMs);
  const heartbeat = setInterval(() => {
    // A worker that hears nothing of it waits a little longer, which is all.
    if (isListening()) tellListening().catch(() => undefined);
  }, heartbeatMs);
  return {
    connected(isGapless) {
      setConnected(true);
      if (!isGapless) gaps += 1;
      tick();
    },
    disconnected() {
      setConnected(false);
      void tellAway();
    },
    missed() {
      gaps += 1;
      retry ??= setTimeout(() => {
        retry = undefined;
        tick();
      }, retryMs);
    },
    async close() {
      clearInterval(timer);
      clearInterval(heartbeat);
      clearTimeout(retry);
      isClosed = true;
      setConnected(false);
      await tellAway();
    },
  };
}
