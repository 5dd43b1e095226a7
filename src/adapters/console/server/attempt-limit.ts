import type { IncomingMessage } from "node:http";
import { type AddressList, findClientAddress, networkOf } from "./client-address.ts";

/** How many wrong attempts an address has in a minute; a page that has its cookie is not affected. */
const mostWrong = 10;
/** The same for a proxy and all that it stands for: far more than people mistype, far less than guessing needs. */
const mostWrongOfProxy = 300;
const wrongForMs = 60_000;
/** How many addresses are tracked; beyond that, all counts are reset. */
const mostAddresses = 10_000;

/** How many wrong attempts come from where. */
export interface AttemptLimit {
  areTooMany(request: IncomingMessage): boolean;
  /** Counts a wrong one. */
  add(request: IncomingMessage): void;
}

export function createAttemptLimit(proxies: AddressList, now: () => number): AttemptLimit {
  const wrong = new Map<string, { count: number; since: number }>();

  /** Of this minute. */
  const read = (address: string) => {
    const known = wrong.get(address);
    return known && now() - known.since < wrongForMs ? known : { count: 0, since: now() };
  };
  const namesOf = (request: IncomingMessage) => ({
    client: networkOf(findClientAddress(request, proxies)),
    peer: `peer ${networkOf(request.socket.remoteAddress ?? "")}`,
  });

  return {
    areTooMany(request) {
      const { client, peer } = namesOf(request);
      return read(client).count >= mostWrong || read(peer).count >= mostWrongOfProxy;
    },
    add(request) {
      for (const address of Object.values(namesOf(request))) {
        const { count, since } = read(address);
        if (wrong.size >= mostAddresses) wrong.clear();
        wrong.set(address, { count: count + 1, since });
      }
    },
  };
}
