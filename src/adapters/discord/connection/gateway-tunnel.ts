import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { EnvHttpProxyAgent } from "undici";

/** The way to Discord's gateway through the proxy that the environment names. */
export interface GatewayTunnel {
  /** The address at which the client reaches `url`; one that leads through here stays, as the client stores what it was given. */
  through(url: string): string;
  close(): Promise<void>;
}

/**
 * The client opens its WebSockets itself and takes neither an agent nor a dispatcher (`@discordjs/ws` 1.2.3), but its
 * library takes the address of a Unix socket: https://github.com/websockets/ws/blob/8.18.0/doc/ws.md#ipc-connections. So
 * it connects to one of this process, in a folder for its user alone, behind which the handshake goes on through the
 * proxy; whatever follows is passed on as it is. Hosts of `NO_PROXY` are connected to directly.
 *
 * @param onProblem told why a connection did not come about; the client tries again
 */
export function openGatewayTunnel(onProblem: (error: unknown) => void): GatewayTunnel {
  const folder = mkdtempSync(join(tmpdir(), "heddle-gateway-"));
  const path = join(folder, "socket");
  const entrance = `ws+unix:${path}:/`;
  // A socket goes through a tunnel, and over HTTP/1.1.
  const dispatcher = new EnvHttpProxyAgent({ allowH2: false, proxyTunnel: true });
  const open = new Set<Duplex>();

  async function connect(request: IncomingMessage, near: Duplex, head: Buffer): Promise<void> {
    track(near);
    const { origin, pathname, search } = readTarget(request.url ?? "");
    const { headers, socket: far } = await dispatcher.upgrade({
      ...{ origin, path: pathname + search, protocol: "websocket" },
      headers: pickHandshake(request.headers),
    });
    track(far);
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
    near.write(`HTTP/1.1 101 Switching Protocols\r\n${formatHeaders(headers)}\r\n`);
    far.write(head);
    near.pipe(far).pipe(near);
  }
  function track(socket: Duplex): void {
    open.add(socket);
    // Its close follows.
    socket.on("error", () => undefined).on("close", () => open.delete(socket));
  }

  const server = createServer().listen(path);
  server.on("error", onProblem).on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    connect(request, socket, head).catch((error: unknown) => {
      onProblem(error);
      socket.end("HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n");
    });
  });
  return {
    through: (url) => (url.startsWith(entrance) ? url : entrance + encodeURIComponent(url)),
    async close() {
      server.close();
      for (const socket of open) socket.destroy();
      await dispatcher.destroy();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What `through` has put into the path, with the query that the client has added. */
function readTarget(requested: string): URL {
  const [path = "", query = ""] = requested.split("?");
  const target = new URL(`${decodeURIComponent(path.slice(1))}?${query}`);
  target.protocol = target.protocol === "ws:" ? "http:" : "https:";
  return target;
}

/** RFC 6455, 4.1; the rest is between two neighbours, and the host is another. */
function pickHandshake(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      (entry): entry is [string, string] =>
        typeof entry[1] === "string" && (entry[0].startsWith("sec-websocket-") || entry[0] === "user-agent"),
    ),
  );
}

function formatHeaders(headers: IncomingHttpHeaders): string {
  return Object.entries(headers)
    .flatMap(([name, values = []]) => [values].flat().map((value) => `${name}: ${value}\r\n`))
    .join("");
}
