import { Cluster, Redis, type RedisOptions } from "ioredis";
import { type ConnectionSilent, defaultLimits, type SilenceLimits, watchSilence } from "./silence.ts";
import type { ClientOptions, Place, Target } from "./target.ts";

/** For how often 100 ms a command waits for a cluster that elects a new primary. */
const patience = 600;

/** What is the same for all connections. */
const common: ClientOptions = {
  // A host that is gone answers no handshake of TCP.
  connectTimeout: 5_000,
  // What a connection that is closed from here is granted for its last replies. The end of the program waits for it.
  disconnectTimeout: 100,
};

/** A sentinel may hang like the server beside it, and is one of several. */
const sentinelOptions: ClientOptions = {
  sentinelCommandTimeout: 2_000,
};

/** How a client notices that it is not answered. */
export interface ClientWatch {
  limits: SilenceLimits;
  /** A client was opened, perhaps as the duplicate of another one. */
  onOpen(client: Redis): void;
  /** A connection of the client was given up. */
  onSilent(client: Redis, silence: ConnectionSilent): void;
}

const unwatched: ClientWatch = {
  limits: defaultLimits,
  onOpen: () => undefined,
  onSilent: () => undefined,
};

const { connect } = Redis.prototype;

/**
 * A connection with TLS may tell two errors: an alert of the server's does not close it yet, so another follows when it is
 * lost or given up. ioredis listens for the first one alone, and the second would end the process. All of its connections
 * begin here, also those that nothing else reaches: to sentinels that it asks, and the one of a cluster that listens.
 */
Redis.prototype.connect = function connectAndListen(this: Redis, callback) {
  this.off("connect", outliveErrors).on("connect", outliveErrors);
  return connect.call(this, callback);
};

function outliveErrors(this: Redis): void {
  this.stream.on("error", () => undefined);
}

/** The one place that makes a client, whatever kind of Redis it is for, and those that others duplicate from it. */
export function openClient(target: Target, own: ClientOptions = {}, watch: ClientWatch = unwatched): Redis {
  const options = {
    ...common,
    // How often a server that loads its data is asked whether it has: what answers is not silent.
    maxLoadingRetryTime: watch.limits.askMs,
    ...(target.options.sentinels && sentinelOptions),
    ...target.options,
    ...own,
  };
  const client = target.nodes ? openCluster(options, target.nodes) : openSingle(options);
  // A cluster is duplicated with the options of its connections behind its nodes.
  client.duplicate = (first?: RedisOptions | Place[], second?: { redisOptions?: RedisOptions }) => {
    const override = Array.isArray(first) || second ? second?.redisOptions : first;
    return openClient(target, { ...own, ...pickOwn(override) }, watch);
  };
  watchSilence(client, {
    limits: watch.limits,
    // BullMQ gives a name to the connection with which it waits for jobs, and nothing else here has one.
    blocks: own.connectionName !== undefined,
    onSilent: (silence) => watch.onSilent(client, silence),
  });
  watch.onOpen(client);
  return client;
}

/** What whoever duplicates a client asks for: the rest is as for the first one. */
function pickOwn({ connectionName, monitor }: RedisOptions = {}): ClientOptions {
  return { ...(connectionName && { connectionName }), ...(monitor && { monitor }) };
}

/** A client of one server, or of the primary that sentinels name. */
export function openSingle(options: ClientOptions): Redis {
  const client = new Redis(options);
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command, stream) => {
    // Over a new connection ioredis subscribes again and looks at no answer: lost, it would end the process. Whoever
    // subscribes hears of it all the same.
    if (command.name === "subscribe") command.promise.catch(() => undefined);
    return send(command, stream);
  };
  return client;
}

function openCluster(options: ClientOptions, nodes: Place[]): Redis {
  const { retryStrategy, db: _, ...redisOptions } = options;
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
