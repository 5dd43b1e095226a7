import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, Transform } from "node:stream";
import { isPublicAddress } from "./addresses.ts";
import type { Allowance } from "./allowance.ts";
import type { Dialer } from "./dialer.ts";
import { forward } from "./forward.ts";
import type { Meter } from "./meter.ts";
import { type EgressPolicy, isListed } from "./policy.ts";
import { refuse, type Status } from "./refusal.ts";
import { throttledLogger } from "./throttled-logger.ts";

export interface ProxyOptions {
  policy: EgressPolicy;
  maxConnections: number;
  allowance: Allowance;
  dialer: Dialer;
  /** Takes lines about connections, not more than some in a minute. */
  log(line: string): void;
  now(): number;
}

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
/** A connection on which nothing moves for this long is ended. */
const idleMs = 300_000;

/**
 * The proxy of one thread. It knows two things: tunnels (`CONNECT`) to listed hosts, in which it sees nothing, and
 * plain requests to hosts with a credential, which it sends on over TLS with the credential added. A name is
 * resolved once and its address checked and dialled, so that no second answer can lead elsewhere.
 */
export function createProxyServer(options: ProxyOptions): Server & { end(): Promise<void> } {
  const { policy, dialer, allowance } = options;
  const open = new Set<Socket>();
  // Apart, so that no number of refusals hides what was reached.
  const [refusals, closings] = [
    throttledLogger(options.log, options.now),
    throttledLogger(options.log, options.now),
  ];

  /** A connection for one of the sandbox's, and no longer than that. */
  async function dial(host: string, port: number, client: Duplex): Promise<Dialled> {
    if (!ports.includes(port)) return refuse(403, `port ${port} is closed; only 80 and 443 are open`);
    if (!isListed(policy.hosts, host)) return refuse(403, `${host} is not on the list of reachable hosts`);
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

  /** Ends the connection when there is too much. */
  function meter(what: string, remote: Socket): Meter {
    let bytes = 0;
    remote.once("close", () => closings.note(`${what}: closed`, bytes));
    const take = async (length: number) => {
      const permission = await allowance.take(length);
      if (permission === "granted") {
        bytes += length;
        return undefined;
      }
      refusals.note(`${what}: ${refusedFor[permission].reason}`);
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

  async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on("error", () => {});
    const target = hostAndPort(request.url ?? "");
    const dialled = target
      ? await dial(target.host, target.port, client)
      : refuse(403, "the target is not host:port");
    if (!dialled.ok) {
      refusals.note(`CONNECT ${shown(request.url)}: ${dialled.reason}`);
      client.end(
        `HTTP/1.1 ${dialled.status} Refused\r\n${textHead(dialled.reason)}\r\n\r\n${dialled.reason}\n`,
      );
      return;
    }
    const { socket } = dialled;
    const { pass } = meter(`CONNECT ${shown(request.url)}`, socket);
    client.write("HTTP/1.1 200 Connected\r\n\r\n");
    client.unshift(head);
    client.pipe(pass()).pipe(socket).pipe(pass()).pipe(client);
    // Who ends properly lets arrive what was sent before.
    client.once("finish", () => client.destroy());
    socket.once("close", () => socket.readableEnded || client.destroy());
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
      refusals.note(`${incoming.method} ${shown(url?.hostname ?? "?")}: ${reason}`);
      answer.writeHead(status, { "content-type": "text/plain" }).end(`${reason}\n`);
      return;
    }
    await forward({
      url,
      credential,
      incoming,
      answer,
      meter: meter(`${incoming.method} ${url.hostname}`, dialled.socket),
      connection: dialled.socket,
      secure: (connection) => dialer.secure(connection, url.hostname),
    });
  }

  // A large push may take longer than Node allows a request; what stands still is ended by idleMs.
  const server = createServer({ requestTimeout: 0 }, (incoming, answer) => {
    relay(incoming, answer).catch(() => incoming.destroy());
  });
  server.maxConnections = options.maxConnections;
  // Or one connection could ask for any number at once.
  server.maxRequestsPerSocket = 1;
  server.on("connect", (incoming, client, head) => {
    tunnel(incoming, client, head).catch(() => client.destroy());
  });
  server.on("connection", (client) => {
    open.add(client);
    client.once("close", () => open.delete(client));
    client.setTimeout(idleMs);
  });
  return Object.assign(server, {
    /** With all connections. */
    async end() {
      const closed = [server, ...open].map((each) => new Promise((resolve) => each.once("close", resolve)));
      server.close();
      for (const socket of open) socket.destroy();
      await Promise.all(closed);
      for (const log of [refusals, closings]) log.flush();
    },
  });
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
