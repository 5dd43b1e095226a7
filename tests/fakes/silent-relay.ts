import { once } from "node:events";
import { createConnection, createServer, type NetConnectOpts, type Socket } from "node:net";
import { listen } from "./listen.ts";

/** A proxy between a client and a server that can go silent: it closes nothing, acknowledges all, and forwards nothing. */
export interface SilentRelay {
  readonly port: number;
  /** How many connections are open. */
  open(): number;
  /** From here on nothing passes over the connections that exist. New ones work, unless `alsoNew`. */
  silence(options?: { alsoNew?: boolean }): void;
  /** New connections work; those that were silenced stay so. */
  restore(): void;
  /** Holds back what comes in on all connections, as a network does that is cut. */
  hold(): void;
  /** Forwards again, also what has come in meanwhile. */
  release(): void;
  close(): Promise<void>;
}

export async function startSilentRelay(target: NetConnectOpts): Promise<SilentRelay> {
  const pairs = new Set<[Socket, Socket]>();
  let isSilent = false;
  let isHeld = false;
  /** What they have lost is lost: passing on what comes later would be a stream with a hole, as no network makes it. */
  const hushed = new WeakSet<[Socket, Socket]>();
  const hush = (pair: [Socket, Socket]) => {
    hushed.add(pair);
    for (const socket of pair) socket.unpipe().removeAllListeners("data").resume();
  };
  const holdBack = (pair: [Socket, Socket]) => {
    if (hushed.has(pair)) return;
    for (const socket of pair) socket.unpipe().pause();
  };
  const forward = (pair: [Socket, Socket]) => {
    if (hushed.has(pair)) return;
    const [client, upstream] = pair;
    // One that is forwarded already must not be so twice: each would get everything two times.
    client.unpipe(upstream).pipe(upstream);
    upstream.unpipe(client).pipe(client);
  };
  const server = createServer((client) => {
    const upstream = createConnection(target);
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket
        .on("error", () => undefined)
        .once("close", () => {
          pairs.delete(pair);
          other.destroy();
        });
    }
    if (isSilent) hush(pair);
    else if (isHeld) holdBack(pair);
    else forward(pair);
  });
  const port = await listen(server);
  return {
    port: port,
    open: () => pairs.size,
    silence({ alsoNew = false } = {}) {
      isSilent = alsoNew;
      for (const pair of pairs) hush(pair);
    },
    restore() {
      isSilent = false;
    },
    hold() {
      isHeld = true;
      for (const pair of pairs) holdBack(pair);
    },
    release() {
      isHeld = false;
      for (const pair of pairs) forward(pair);
    },
    async close() {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
