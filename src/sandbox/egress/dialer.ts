import { lookup } from "node:dns/promises";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";

/** How a proxy reaches the world; a test puts a loopback in its place. */
export interface Dialer {
  /** All addresses of a name. */
  resolve(host: string): Promise<string[]>;
  connect(address: string, port: number): Socket;
  /** TLS over the connection, with the host's certificate checked. */
  secure(socket: Socket, host: string): Socket;
}

export const publicDialer: Dialer = {
  resolve: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
  connect: (address, port) => connect(port, address),
  secure: (socket, host) =>
    // An address is no name of a server (RFC 6066, 3).
    connectSecurely({
      socket,
      ...(isIP(host) ? { host } : { servername: host }),
      ALPNProtocols: ["http/1.1"],
    }),
};
