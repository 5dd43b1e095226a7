import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import type { Masker } from "../agent/secrets/masker.ts";
import type { ThreadId } from "../chat/threads.ts";
import type { Config } from "../config/load.ts";
import { daySeconds } from "../queue/redis/keys.ts";
import { createJobReports } from "../queue/turns/background-jobs.ts";
import { createAfterStop } from "../queue/turns/end-unheld-thread.ts";
import { watchStops, watchStopsWhenNeeded } from "../queue/turns/stops.ts";
import type { TurnQueue } from "../queue/turns/wake-queue.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Configuration } from "./configuration/live-configuration.ts";
import { channelSettings } from "./channel-settings.ts";
import { createTurnOutput, type TurnOutputDeps } from "./turns/turn-engine.ts";

/** A platform that takes no message for longer is left to a worker, ms. */
const longestMs = 60_000;
/** For how long a process that ends goes on telling of a stop, ms. */
const closingMs = 5_000;

interface StopTrackingDeps extends Pick<TurnOutputDeps, "redis" | "output" | "surface"> {
  config: Config;
  configuration: Pick<Configuration, "current">;
  log: Logger;
  masker: Masker;
  queue: Pick<TurnQueue, "wake" | "drop">;
  observe: NonNullable<TurnOutputDeps["observe"]>;
  /** A connection of its own for orders, which ends with the others. */
  subscribe(): Redis;
}

type StopTracking = ReturnType<typeof trackStops>;

/** What this process does about stops that it has recorded. */
export function openStopTracking({
  config,
  configuration,
  log,
  masker,
  redis,
  queue,
  output,
  surface,
  observe,
  subscribe,
}: StopTrackingDeps): StopTracking {
  const expireSeconds = config.settings.sessions.expireDays * daySeconds;
  const turnOutput = createTurnOutput({
    ...{ redis, output, surface, observe },
    verbosity: (thread) => channelSettings(configuration.current().settings, thread).verbosity,
    mask: (text) => masker.mask(text),
    onProblem: (problem, error, where) => log.warn({ err: error, ...where }, problem),
    onError: (error) => log.warn({ err: error }, "Those who look on were not told of a stop."),
  });
  // Most commands and stops need none, and it is a connection of its own.
  const stops = watchStopsWhenNeeded(() =>
    watchStops(redis, subscribe(), (error) =>
      log.warn({ err: error }, "What a stop has ended could not be read."),
    ),
  );
  const background = createJobReports({ redis, stops });
  const afterStop = createAfterStop({ ...turnOutput, redis, queue, background, expireSeconds });
  return trackStops(afterStop, (problem, error) => log.warn({ err: error }, problem));
}

/** Keeps account of what this process still has to tell of stops, so that it does not end in the middle of it. */
export function trackStops(
  begin: ReturnType<typeof createAfterStop>,
  onProblem: (problem: string, error: unknown) => void,
): { afterStop(thread: ThreadId): Promise<void>; close(): Promise<void> } {
  const pending = new Set<Promise<void>>();
  const closing = new AbortController();
  return {
    async afterStop(thread) {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(longestMs)]);
      const { rest } = await begin(thread, signal);
      const told = rest
        .catch((error: unknown) => onProblem("A thread could not be told of a stop.", error))
        .finally(() => pending.delete(told));
      pending.add(told);
    },
    async close() {
      await Promise.race([Promise.allSettled(pending), delay(closingMs, undefined, { ref: false })]);
      closing.abort();
      await Promise.allSettled(pending);
    },
  };
}
