import * as diagnostics from "node:diagnostics_channel";
import type { Redis } from "ioredis";

/** When a connection over which nothing comes is taken for dead. */
export interface SilenceLimits {
  /** How often a connection is looked at, ms. */
  tickMs: number;
  /** A connection that has said nothing for so long is asked, ms. */
  askMs: number;
  /** For how long an answer may be outstanding, ms: longer than Redis ever takes for a fork or a slow disk. */
  answerMs: number;
}

export const defaultLimits: SilenceLimits = { tickMs: 500, askMs: 1_000, answerMs: 4_000 };

/** The longest that BullMQ lets Redis hold back the answer of a blocking command, ms. */
const longestBlockMs = 10_000;

/** Why a connection was closed from here: it may look open for minutes behind a proxy or to a frozen server. */
export class ConnectionSilent extends Error {
  override readonly name = "ConnectionSilent";

  readonly silentMs: number;

  constructor(silentMs: number) {
    super(`Redis has not answered for ${silentMs / 1_000} s: the connection is given up and made anew.`);
    this.silentMs = silentMs;
  }
}

/** Carries a {@link ConnectionSilent} for every connection of this process that was given up, for metrics. */
export const silences = diagnostics.channel("heddle:redis-silences");

/** What was heard of a connection. */
interface Heard {
  bytes: number;
  /** Ticks since then. */
  quiet: number;
}

/**
 * Gives up every connection of a client that is open and answers nothing: whatever the client does then (connect again,
 * ask sentinels, take another node of the cluster), its commands go on over another connection. `socketTimeout` of
 * ioredis would do for commands alone: it does not count while a connection only listens, does not reach the connection of a
 * cluster that listens, and takes a process that was frozen itself for a silent Redis. Here our own ticks are counted
 * instead of the time.
 *
 * @param options.blocks BullMQ waits for jobs over it, so that an answer may be held back on purpose
 * @param options.onSilent called after the connection was closed
 */
export function watchSilence(
  client: Redis,
  options: { limits: SilenceLimits; blocks: boolean; onSilent(silence: ConnectionSilent): void },
): void {
  const { tickMs, askMs, answerMs } = options.limits;
  const heard = new WeakMap<Redis["stream"], Heard>();
  const longestMs = askMs + answerMs + (options.blocks ? longestBlockMs : 0);

  const look = (connection: Redis) => {
    const { stream, status } = connection;
    if ((status !== "ready" && status !== "connect") || stream.destroyed) return;
    const { bytesRead: bytes } = stream;
    const before = heard.get(stream);
    const quiet = before?.bytes === bytes ? before.quiet + 1 : 0;
    heard.set(stream, { bytes, quiet });
    // Before, the client asks by itself, of a server that loads its data again and again.
    if (status === "ready" && quiet === Math.ceil(askMs / tickMs)) connection.ping().catch(() => undefined);
    if (quiet * tickMs < longestMs) return;
    const silence = new ConnectionSilent(longestMs);
    stream.destroy(silence);
    silences.publish(silence);
    options.onSilent(silence);
  };

  let timer: NodeJS.Timeout | undefined;
  const start = () => {
    timer ??= setInterval(() => connectionsOf(client).forEach(look), tickMs).unref();
  };
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };
  // BullMQ ends connections and opens them again.
  client.on("connecting", start);
  client.on("end", stop);
}

/** The connections behind a client: one, or those to the nodes of a cluster and the one that listens there. */
function connectionsOf(client: Redis): Redis[] {
  if (!client.isCluster) return [client];
  // A cluster's types hide the connection for subscriptions, and nothing else reaches it.
  const cluster = client as unknown as {
    nodes(): Redis[];
    subscriber: { getInstance(): Redis | null };
  };
  const listening = cluster.subscriber.getInstance();
  return listening ? [...cluster.nodes(), listening] : cluster.nodes();
}
