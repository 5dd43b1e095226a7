import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import { Gauge, type Registry } from "prom-client";
import { readSizes } from "../queue/session/lists/sizes.ts";
import { readBacklog } from "../queue/turns/backlog.ts";

/** Figures of all processes together, the same in each. Returns how to read them from Redis. */
export function registerSharedGauges(registry: Registry, redis: Redis): () => Promise<void> {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] });
  const waiting = gauge("heddle_mailbox_messages", "Messages that no turn has taken, in all threads.");
  const age = gauge("heddle_mailbox_oldest_age_seconds", "Age of the oldest of them.");
  const running = gauge("heddle_turns_running", "Turns that run, in all workers.");
  const outbox = gauge("heddle_outbox_entries", "What threads must still show.");
  const ping = gauge("heddle_redis_ping_seconds", "How long Redis took to answer.");
  const up = gauge("heddle_redis_up", "1 when Redis answered for this scrape.");
  const readStorage = registerStorageGauges(registry, redis);
  return async () => {
    const storage = readStorage();
    const before = performance.now();
    const look = async () => {
      await redis.ping();
      ping.set((performance.now() - before) / 1_000);
      return await readBacklog(redis, Date.now());
    };
    // The client waits for a server that is away; whoever asks for metrics does not.
    const backlog = await Promise.race([
      look().catch(() => undefined),
      delay(patienceMs, undefined, { ref: false }),
    ]);
    up.set(backlog ? 1 : 0);
    waiting.set(backlog?.messages ?? Number.NaN);
    age.set(backlog ? backlog.oldestMs / 1_000 : Number.NaN);
    running.set(backlog?.running ?? Number.NaN);
    outbox.set(backlog?.outbox ?? Number.NaN);
    await storage;
  };
}

/** How long figures hold that cost some commands for each session, in milliseconds. */
const sizesForMs = 60_000;

/** How much Redis holds. Returns how to read it; a scrape that is too early for new figures gets those from before. */
function registerStorageGauges(registry: Registry, redis: Redis): () => Promise<void> {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] });
  const used = gauge("heddle_redis_memory_used_bytes", "Memory that Redis uses.");
  const limit = gauge("heddle_redis_memory_limit_bytes", "Memory that Redis may use; 0 without a limit.");
  const sessions = gauge("heddle_sessions", "Threads of which something is kept.");
  const largestOf = (what: string) => ({
    records: gauge(`heddle_largest_${what}_records`, `Records of the largest ${what}.`),
    bytes: gauge(`heddle_largest_${what}_bytes`, `Size of the largest ${what}, as Redis estimates it.`),
  });
  const [journal, mailbox] = [largestOf("journal"), largestOf("mailbox")];
  const read = async () => {
    const sizes = await readSizes(redis);
    used.set(sizes.memory?.used ?? Number.NaN);
    limit.set(sizes.memory?.limit ?? 0);
    sessions.set(sizes.sessions);
    for (const [gauges, [largest]] of [
      [journal, sizes.journals] as const,
      [mailbox, sizes.mailboxes] as const,
    ]) {
      gauges.records.set(largest?.records ?? 0);
      gauges.bytes.set(largest?.bytes ?? 0);
    }
  };
  let latest = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  return async () => {
    if (performance.now() - latest < sizesForMs) return;
    reading ??= read()
      .then(
        () => {
          latest = performance.now();
        },
        () => undefined,
      )
      .finally(() => {
        reading = undefined;
      });
    await Promise.race([reading, delay(patienceMs, undefined, { ref: false })]);
  };
}

/** A scrape that takes longer is of no use: Prometheus gives up after 10 s by default. */
const patienceMs = 2_000;
