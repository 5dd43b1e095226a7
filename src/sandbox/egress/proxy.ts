import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { isPublicAddress } from "./addresses.ts";
import { forward } from "./forward.ts";
import { type EgressPolicy, isListed } from "./policy.ts";
import type { Uplink } from "./uplink.ts";

export interface ProxyOptions {
  policy: EgressPolicy;
  maxConnections: number;
  /** Counts bytes; false when there may be no more. */
  spend(bytes: number): boolean;
  uplink: Uplink;
  log(line: string): void;
}

/** A connection to a host that was allowed and looked up, or why there is none. */
export type Dialled = { ok: true; socket: Socket } | { ok: false; status: 403 | 502; reason: string };

const ports = [80, 443];
const connectWithinMs = 10_000;
/** A connection on which nothing moves for this long is ended. */
const idleMs = 300_000;

/**
 * The proxy of one thread. It knows two things: tunnels (`CONNECT`) to listed hosts, in which it sees nothing, and
 * plain requests to hosts with a credential, which it sends on over TLS with the credential added. A name is
 * resolved once and its address checked and dialled, so that no second answer can lead elsewhere.
 */
export function createProxyServer(options: ProxyOptions): Server & { endConnections(): void } {
  const { policy, uplink, log } = options;
  const open = new Set<Socket>();

  /** A connection for one of the sandbox's, and no longer than that. */
  async function dial(host: string, port: number, client: Duplex): Promise<Dialled> {
    if (!ports.includes(port)) return refuse(403, `port ${port} is closed; only 80 and 443 are open`);
    if (!isListed(policy.hosts, host)) return refuse(403, `${host} is not on the list of reachable hosts`);
    if (!options.spend(0)) return refuse(403, "this thread has used up its bytes of today");
    const addresses = await uplink.resolve(host).catch(() => []);
    const address = addresses.find(isPublicAddress);
    if (address === undefined) {
      return addresses.length > 0
        ? refuse(403, `${host} is at a private address`)
        : refuse(502, `the name ${host} could not be resolved`);
    }
    if (client.destroyed) return refuse(502, "the sandbox has hung up");
    const socket = uplink.connect(address, port);
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

  /** Takes what passes in both directions, and ends the connection when it is too much. */
  function meter(what: string, remote: Socket): (length: number) => void {
    let bytes = 0;
    remote.once("close", () => log(`${what}: closed after ${bytes} bytes`));
    return (length) => {
      bytes += length;
      if (options.spend(length)) return;
      log(`${what}: the bytes of today are used up`);
      remote.destroy();
    };
  }

  async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on("error", () => {});
    const target = hostAndPort(request.url ?? "");
    const dialled = target
      ? await dial(target.host, target.port, client)
      : refuse(403, "the target is not host:port");
    if (!dialled.ok) {
      log(`CONNECT ${shown(request.url)}: ${dialled.reason}`);
      client.end(
        `HTTP/1.1 ${dialled.status} Refused\r\n${textHead(dialled.reason)}\r\n\r\n${dialled.reason}\n`,
      );
      return;
    }
    const { socket } = dialled;
    const count = meter(`CONNECT ${shown(request.url)}`, socket);
    count(head.length);
    client.on("data", (chunk: Buffer) => count(chunk.length));
    socket.on("data", (chunk: Buffer) => count(chunk.length));
    socket.once("close", () => client.destroy());
    client.write("HTTP/1.1 200 Connected\r\n\r\n");
    socket.write(head);
    client.pipe(socket).pipe(client);
  }

  async function relay(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    answer.setHeader("connection", "close");
    const url = URL.parse(incoming.url ?? "");
    const credential = policy.credentials.find(({ host }) => host === url?.hostname);
    const plain = url?.protocol === "http:" && url.port === "" && incoming.method !== "TRACE";
    const dialled =
      plain && credential
        ? await dial(url.hostname, 443, incoming.socket)
        : refuse(403, "only https is open; plain http is for hosts with a credential, which the proxy adds");
    if (!dialled.ok || !url || !credential) {
      const { status, reason } = dialled.ok ? refuse(403, "no credential") : dialled;
      log(`${incoming.method} ${url?.hostname ?? "?"}: ${reason}`);
      answer.writeHead(status, { "content-type": "text/plain" }).end(`${reason}\n`);
      return;
    }
    const count = meter(`${incoming.method} ${url.hostname}`, dialled.socket);
    forward({
      url,
      credential,
      incoming,
      answer,
      count,
      socket: uplink.secure(dialled.socket, url.hostname),
    });
  }

  // A large push may take longer than Node allows a request; what stands still is ended by idleMs.
  const server = createServer({ requestTimeout: 0 }, (incoming, answer) => void relay(incoming, answer));
  server.maxConnections = options.maxConnections;
  // Or one connection could ask for any number at once.
  server.maxRequestsPerSocket = 1;
  server.on("connect", (incoming, client, head) => void tunnel(incoming, client, head));
  server.on("connection", (client) => {
    open.add(client);
    client.once("close", () => open.delete(client));
    client.setTimeout(idleMs);
  });
  return Object.assign(server, {
    endConnections() {
      for (const socket of open) socket.destroy();
    },
  });
}

function refuse(status: 403 | 502, reason: string) {
  return { ok: false, status, reason } as const;
}

function textHead(text: string): string {
  return `Content-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(text) + 1}\r\nConnection: close`;
}

function hostAndPort(target: string): { host: string; port: number } | undefined {
  const match = /^([A-Za-z0-9.-]+):(\d{1,5})$/.exec(target);
  return match?.[1] && match[2] ? { host: match[1].toLowerCase(), port: Number(match[2]) } : undefined;
}

/** What the sandbox wrote, harmless in a log. */
function shown(text = ""): string {
  return text.slice(0, 300).replace(/[^\x21-\x7e]/g, "?");
}
