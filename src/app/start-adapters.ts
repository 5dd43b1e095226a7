import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ChatAdapter,
  type ConnectionChange,
  connections,
  PlatformUnreachable,
} from "../chat/adapter.ts";
import type { Intake } from "../chat/inbound.ts";
import type { Logger } from "../telemetry/log.ts";

export interface StartedAdapters {
  /** The platforms that were not reached so far. */
  unreached(): string[];
  close(): Promise<void>;
}

const firstRetryMs = 2_000;
const longestRetryMs = 60_000;

/**
 * Starts all adapters at once. A platform that is not reached keeps none of the others waiting and is tried again until
 * it is: at boot the network is often late. @throws what the first other one has thrown; then none is left open
 */
export async function startAdapters(
  adapters: readonly ChatAdapter[],
  {
    intake,
    log,
    retryMs = firstRetryMs,
  }: { intake: Intake; log: Pick<Logger, "info" | "warn" | "error">; retryMs?: number },
): Promise<StartedAdapters> {
  const closing = new AbortController();
  const ended = once(closing.signal, "abort");
  const started = new Set<ChatAdapter>();
  const retrying = new Map<ChatAdapter, Promise<void>>();

  async function startOne(adapter: ChatAdapter): Promise<void> {
    await adapter.start(intake);
    started.add(adapter);
  }

  /** A platform that does not answer holds up no end. One that answers later is told at once. */
  function abandon(adapter: ChatAdapter, attempt: Promise<void>): void {
    attempt.then(() => adapter.stop()).catch(() => undefined);
  }

  async function retry(adapter: ChatAdapter): Promise<void> {
    for (let waitMs = retryMs; ; waitMs = Math.min(2 * waitMs, longestRetryMs)) {
      await sleep(waitMs, undefined, { signal: closing.signal }).catch(() => undefined);
      if (closing.signal.aborted) return;
      const attempt = startOne(adapter);
      try {
        await Promise.race([attempt, ended]);
        if (closing.signal.aborted) return abandon(adapter, attempt);
        retrying.delete(adapter);
        log.info(`${adapter.platform} is reached and connected.`);
        return;
      } catch (error) {
        if (error instanceof PlatformUnreachable) continue;
        // Until somebody acts: the platform stays among those that are not reached.
        log.error(
          { err: error },
          `${adapter.platform} cannot be connected: correct that and start Heddle again.`,
        );
        return;
      }
    }
  }

  const close = async () => {
    closing.abort();
    await Promise.all(retrying.values());
    await Promise.all([...started].map((adapter) => adapter.stop()));
  };
  const results = await Promise.allSettled(adapters.map(startOne));
  const failures: unknown[] = [];
  for (const [index, result] of results.entries()) {
    const adapter = adapters[index];
    if (result.status === "fulfilled" || !adapter) continue;
    if (result.reason instanceof PlatformUnreachable) {
      log.warn(`${result.reason.message} Heddle keeps trying, and serves everything else.`);
      const { platform } = adapter;
      connections.publish({ platform, isConnected: undefined } satisfies ConnectionChange);
      retrying.set(adapter, retry(adapter));
    } else {
      failures.push(result.reason);
    }
  }
  if (failures.length > 0) {
    await close();
    throw failures[0];
  }
  return { unreached: () => [...retrying.keys()].map(({ platform }) => platform), close };
}
