import { once } from "node:events";
import type { Socket } from "node:net";
import { type Duplex, Transform } from "node:stream";
import type { Allowance } from "./allowance.ts";
import type { Dialer } from "./dialer.ts";
import type { Meter } from "./meter.ts";
import { type EgressPolicy, isListed } from "./policy.ts";
import { isPublicAddress } from "./private-addresses.ts";
import { refuse, type Status } from "./refusal.ts";

/** A connection to a host that was allowed and looked up, or why there is none. */
export type Dialled = { ok: true; socket: Socket } | { ok: false; status: Status; reason: string };

const refusedFor = {
  "used up": refuse(429, "this thread has used up its bytes of today"),
  unknown: refuse(
    503,
    "the bytes of this thread cannot be counted at this moment, so none may pass; try again later",
  ),
};

const ports = [80, 443];
const connectWithinMs = 10_000;
/** A connection on which nothing moves for this long is ended, in milliseconds. */
export const idleMs = 300_000;

/** The connections of one thread to hosts outside, within its policy and its bytes of the day. */
export interface Connections {
  /** A connection for one of the sandbox's, and no longer than that. */
  dial(host: string, port: number, client: Duplex): Promise<Dialled>;
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

  async function dial(host: string, port: number, client: Duplex): Promise<Dialled> {
    if (!ports.includes(port)) return refuse(403, `port ${port} is closed; only 80 and 443 are open`);
    if (!isListed(policy.hosts, host)) {
      onUnlisted?.(host);
      return refuse(403, `${host} is not on the list of reachable hosts`);
    }
    const permission = await allowance.take(0);
    if (permission !== "granted") return refusedFor[permission];
    const addresses = await dialer.resolve(host).catch(() => []);
    const address = addresses.find(isPublicAddress);
    if (address === undefined) {
      return addresses.length > 0
        ? refuse(403, `${host} is at a private address`)
        : refuse(502, `the name ${host} could not be resolved`);
    }
    if (client.destroyed) return refuse(502, "the sandbox has hung up");
    const socket = dialer.connect(address, port);
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    client.once("close", () => socket.destroy());
    socket.setTimeout(idleMs, () => socket.destroy());
    try {
      await once(socket, "connect", { signal: AbortSignal.timeout(connectWithinMs) });
    } catch {
      socket.destroy();
      return refuse(502, `${host} did not answer`);
    }
    socket.on("error", () => {});
    return { ok: true, socket };
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

  return { dial, meter };
}
