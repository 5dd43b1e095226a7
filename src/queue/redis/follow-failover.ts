import { openSingle } from "./client.ts";
import { defaultLimits, watchSilence } from "./silence.ts";
import type { Target } from "./target.ts";

const channel = "+switch-master";

/** How soon a sentinel that was lost is tried again, ms. */
const retryMs = 5_000;

/**
 * Calls back whenever the sentinels name another primary. The old one may still answer, or answer again after a while:
 * what it accepts until it learns that it is a replica is lost. Listens to all sentinels, as any of them may be gone. ioredis's
 * own `failoverDetector` would do it with so many connections for each client, and prints what happens to them.
 *
 * @returns how to end it; nothing to follow without sentinels
 */
export function followFailover({ options }: Target, onFailover: () => void): () => void {
  const { sentinels, name } = options;
  const listeners = (sentinels ?? []).map((place) => {
    const sentinel = openSingle({
      ...place,
      ...(options.sentinelPassword && { password: options.sentinelPassword }),
      ...(options.sentinelTLS && { tls: options.sentinelTLS }),
      connectTimeout: 5_000,
      disconnectTimeout: 100,
      retryStrategy: () => retryMs,
      maxRetriesPerRequest: null,
      enableReadyCheck: false,
    });
    sentinel.on("error", () => undefined);
    // `<name> <old host> <old port> <new host> <new port>`
    sentinel.on("message", (_channel, text) => {
      if (text.split(" ")[0] === name) onFailover();
    });
    sentinel.subscribe(channel).catch(() => undefined);
    watchSilence(sentinel, { limits: defaultLimits, blocks: false, onSilent: () => undefined });
    return sentinel;
  });
  return () => {
    for (const sentinel of listeners) sentinel.disconnect();
  };
}
