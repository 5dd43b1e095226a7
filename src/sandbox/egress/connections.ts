import type { Socket } from "node:net";
import { type Duplex, Transform } from "node:stream";
import type { Allowance } from "./allowance.ts";
import { type Dialled, type DialOptions, dialPublic, refusedFor } from "./dial.ts";
import type { Dialer } from "./dialer.ts";
import type { Meter } from "./meter.ts";
import { type EgressPolicy, isListed } from "./policy.ts";

/** A connection on which nothing moves for this long is ended, in milliseconds. */
export const idleMs = 300_000;

/** The connections of one thread to hosts outside, within its policy and its bytes of the day. */
export interface Connections {
  /** A connection for one of the sandbox's, and no longer than that. */
  dial(host: string, port: number, client: Duplex): Promise<Dialled>;
  /** The same for a host that the settings name with its port, whatever the policy lists. */
  dialNamed(host: string, port: number, client: Duplex): Promise<Dialled>;
  /** Counts the bytes of a connection, and ends it when there are too many. */
  meter(what: string, remote: Socket): Meter;
}

/**
 * @param options.open every socket is in it while it is open
 * @param options.onRefused,onClosed take what is to be logged
 */
export function createConnections(options: {
  policy: EgressPolicy;
  allowance: Allowance;
  dialer: Dialer;
  open: Set<Socket>;
  onUnlisted?: ((host: string) => void) | undefined;
  onRefused(line: string): void;
  onClosed(line: string, bytes: number): void;
}): Connections {
  const { policy, allowance, dialer, open, onUnlisted, onRefused, onClosed } = options;

  function isAllowed(name: string): boolean {
    const isAmongHosts = isListed(policy.hosts, name);
    if (!isAmongHosts) onUnlisted?.(name);
    return isAmongHosts;
  }

  function dial(
    host: string,
    port: number,
    client: Duplex,
    judge: DialOptions["isAllowed"] = isAllowed,
  ): Promise<Dialled> {
    return dialPublic(
      { host, port },
      {
        allowance,
        dialer,
        isAllowed: judge,
        isWanted: () => !client.destroyed,
        onSocket(socket) {
          open.add(socket);
          socket.once("close", () => open.delete(socket));
          client.once("close", () => socket.destroy());
          socket.setTimeout(idleMs, () => socket.destroy());
        },
      },
    );
  }

  function meter(what: string, remote: Socket): Meter {
    let bytes = 0;
    remote.once("close", () => onClosed(`${what}: closed`, bytes));
    const take = async (length: number) => {
      const permission = await allowance.take(length);
      if (permission === "granted") {
        bytes += length;
        return undefined;
      }
      onRefused(`${what}: ${refusedFor[permission].reason}`);
      remote.destroy();
      return refusedFor[permission];
    };
    return {
      take,
      pass: () =>
        new Transform({
          async transform(chunk: Buffer, _encoding, done) {
            const refusal = await take(chunk.length);
            done(null, refusal === undefined ? chunk : undefined);
          },
        }),
    };
  }

  return {
    dial,
    dialNamed: (host, port, client) => dial(host, port, client, () => "as named"),
    meter,
  };
}
