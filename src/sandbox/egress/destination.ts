import { isIP } from "node:net";
import { isLinkLocalAddress, isPublicAddress } from "./private-addresses.ts";

/** Where bytes go: a name, or an address without brackets. */
export interface Destination {
  host: string;
  port: number;
}

/** How long a connection may take to be made, ms. */
export const connectWithinMs = 10_000;

/** A name may end with the dot of the root, and an address of version 6 stands in brackets. */
export function toDestination({ hostname, port, protocol }: URL): Destination {
  const host = hostname.replace(/\.$/, "").replace(/^\[(.*)\]$/, "$1");
  return { host, port: Number(port) || (protocol === "https:" ? 443 : 80) };
}

/** Why a destination that the operator has not named is not dialled, by its port; undefined where it may be. */
export function describeClosedPort({ host, port }: Destination): string | undefined {
  return port === 80 || port === 443
    ? undefined
    : `port ${port} of ${host} is closed; only 80 and 443 are open`;
}

/**
 * Those of a host's addresses that may be dialled: public ones, or where the operator has named that host and port any
 * but link-local ones, where clouds keep their metadata; these must be named as they are. Where there are addresses and
 * none may, `problem` says why.
 *
 * @param found what the one look-up of the name has given: what is judged here is what must be dialled
 */
export function judgeAddresses(
  host: string,
  found: readonly string[],
  { isNamed }: { isNamed: boolean },
): { addresses: string[]; problem?: string } {
  const mayDial = (address: string) =>
    isNamed ? isIP(host) !== 0 || !isLinkLocalAddress(address) : isPublicAddress(address);
  const addresses = found.filter(mayDial);
  if (addresses.length > 0 || found.length === 0) return { addresses };
  const where = isNamed ? "a link-local address, where clouds keep their credentials" : "a private address";
  return { addresses, problem: `${host} is at ${where}` };
}
