import { lookup } from "node:dns/promises";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { createLookUps } from "./look-ups.ts";

/** How a proxy reaches the world; a test puts a loopback in its place. */
export interface Dialer {
  /**
   * All addresses of a name.
   *
   * @param thread on whose behalf, absent where Heddle itself asks: see {@link createLookUps}
   */
  resolve(host: string, thread?: string): Promise<string[]>;
  connect(address: string, port: number): Socket;
  /** TLS over the connection, with the host's certificate checked. */
  secure(socket: Socket, host: string): Socket;
}

const lookUp = async (host: string) => (await lookup(host, { all: true })).map(({ address }) => address);
const lookUpFor = createLookUps(lookUp);

export const publicDialer: Dialer = {
  // An address is itself, and nobody waits for it.
  resolve: (host, thread) => (thread === undefined || isIP(host) ? lookUp(host) : lookUpFor(host, thread)),
  connect: (address, port) => connect(port, address),
  secure: (socket, host) =>
    // An address is no name of a server (RFC 6066, 3).
    connectSecurely({
      socket,
      ...(isIP(host) ? { host } : { servername: host }),
      ALPNProtocols: ["http/1.1"],
    }),
};

/** The same for what a thread asks for. */
export function dialerOf(dialer: Dialer, thread: string): Dialer {
  return { ...dialer, resolve: (host) => dialer.resolve(host, thread) };
}
