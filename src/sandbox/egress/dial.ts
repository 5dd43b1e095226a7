import { once } from "node:events";
import { isIP, type Socket } from "node:net";
import type { Allowance } from "./allowance.ts";
import { connectWithinMs, describeClosedPort, type Destination, judgeAddresses } from "./destination.ts";
import type { Dialer } from "./dialer.ts";
import { refuse, type Status } from "./refusal.ts";

/** A connection to a host that was allowed and looked up, or why there is none. */
export type Dialled = { ok: true; socket: Socket } | { ok: false; status: Status; reason: string };

/** Why bytes may not pass, by what the allowance said. */
export const refusedFor = {
  "used up": refuse(429, "this thread has used up its bytes of today"),
  unknown: refuse(
    503,
    "the bytes of this thread cannot be counted at this moment, so none may pass; try again later",
  ),
};

export interface DialOptions {
  allowance: Allowance;
  dialer: Dialer;
  /**
   * Whether the operator lets the thread reach that host. `as named`: the settings name this very host and port, which may
   * be private (see {@link judgeAddresses}).
   */
  isAllowed(host: string): boolean | "as named";
  /** Whether somebody still waits for the connection, asked after the look-up. */
  isWanted(): boolean;
  /** Takes the socket before it is connected, to end it with whatever it is for. */
  onSocket(socket: Socket): void;
}

/**
 * The one way out of Heddle for what a thread asks for: the proxy of its sandbox and its web tools go through it. The
 * port, the operator's list, the bytes of the day and the address are checked in this order. The name is looked up
 * once and the addresses that were checked are dialled, one after the other, so that no second answer can lead elsewhere.
 */
export async function dialPublic(
  destination: Destination,
  { allowance, dialer, isAllowed, isWanted, onSocket }: DialOptions,
): Promise<Dialled> {
  const { host, port } = destination;
  const allowed = isAllowed(host);
  const isNamed = allowed === "as named";
  const closed = isNamed ? undefined : describeClosedPort(destination);
  if (closed !== undefined) return refuse(403, closed);
  if (!allowed) return refuse(403, `${host} is not on the list of reachable hosts`);
  const permission = await allowance.take(0);
  if (permission !== "granted") return refusedFor[permission];
  const found = await dialer.resolve(host).catch(() => []);
  const { addresses, problem } = judgeAddresses(host, found, { isNamed });
  if (problem !== undefined) return refuse(403, problem);
  if (addresses.length === 0) return refuse(502, `the name ${host} could not be resolved`);
  const tried = alternateFamilies(addresses).slice(0, mostAddresses);
  for (const address of tried) {
    if (!isWanted()) return refuse(502, "the sandbox has hung up");
    const socket = dialer.connect(address, port);
    onSocket(socket);
    try {
      await once(socket, "connect", { signal: AbortSignal.timeout(connectWithinMs / tried.length) });
    } catch {
      socket.destroy();
      continue;
    }
    socket.on("error", () => {});
    return { ok: true, socket };
  }
  return refuse(502, `${host} did not answer`);
}

/** Each is given its part of the time. */
const mostAddresses = 4;

/** A machine may have addresses of version 6 that lead nowhere, and a host a dozen of each. */
function alternateFamilies(addresses: readonly string[]): string[] {
  const [first = ""] = addresses;
  const [own, others] = [true, false].map((isOwn) =>
    addresses.filter((address) => (isIP(address) === isIP(first)) === isOwn),
  );
  return addresses.flatMap((_, index) =>
    [own, others].flatMap((family) => family?.slice(index, index + 1) ?? []),
  );
}
