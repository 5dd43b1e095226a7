import { Cluster, Redis } from "ioredis";
import type { ClientOptions, Target } from "./target.ts";

/** For how often 100 ms a command waits for a cluster that elects a new primary. */
const patience = 600;

/** The one place that makes a client, whatever kind of Redis it is for. */
export function openClient({ options, nodes }: Target, own: ClientOptions = {}): Redis {
  if (!nodes) return new Redis({ ...options, ...own });
  const { retryStrategy, db: _, ...redisOptions } = { ...options, ...own };
  const cluster = new Cluster(nodes, {
    redisOptions,
    ...(retryStrategy && { clusterRetryStrategy: retryStrategy }),
    maxRedirections: patience,
    // A check that fails while a primary is elected leaves whoever waits for `connect` waiting for ever, BullMQ's workers
    // above all. Without it, commands wait for the cluster by themselves.
    enableReadyCheck: false,
    // Certificates are made out to names, not to what these resolve to.
    ...(options.tls && { dnsLookup: (name, found) => found(null, name) }),
  });
  // It has the commands and events of a single client; what only that one has is used nowhere.
  return cluster as unknown as Redis;
}
