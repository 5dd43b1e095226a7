import { createConnection, createServer, type NetConnectOpts, type Socket } from "node:net";
import { listen } from "./listen.ts";

/** A long way to a server: each answer arrives so much later, and what is asked together is answered together. */
export interface SlowRelay {
  readonly port: number;
  close(): void;
}

export async function startSlowRelay(target: NetConnectOpts, delayMs: number): Promise<SlowRelay> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection(target);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket
        .on("error", () => undefined)
        .once("close", () => {
          sockets.delete(socket);
          other.destroy();
        });
    }
    client.pipe(upstream);
    upstream.on("data", (chunk) => setTimeout(() => client.destroyed || client.write(chunk), delayMs));
  });
  return {
    port: await listen(server),
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
