import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Allowance } from "./allowance.ts";
import { createConnections, idleMs } from "./connections.ts";
import type { Dialer } from "./dialer.ts";
import type { EgressPolicy } from "./policy.ts";
import { type Refusal, refuse } from "./refusal.ts";
import { relayWithCredential } from "./relay-credential.ts";
import { relayToRepository } from "./relay-repository.ts";
import { matchRepository } from "./repository.ts";
import { readFromSite } from "./relay-site.ts";
import { type EgressSite, findPlainSite, findTunnelSite } from "./site.ts";
import { createThrottledLogger } from "./throttled-logger.ts";

export interface ProxyOptions {
  policy: EgressPolicy;
  maxConnections: number;
  allowance: Allowance;
  dialer: Dialer;
  /** Takes hosts that were asked for and are not listed. */
  onUnlisted?(host: string): void;
  /** Takes lines about connections, not more than some in a minute. */
  log(line: string): void;
  now(): number;
}

/**
 * The proxy of one thread. It knows four things: tunnels (`CONNECT`) to listed hosts, in which it sees nothing; plain
 * requests to hosts with a credential, which it sends on over TLS with the credential added; those of git for the
 * thread's repositories, of which it reads what a push is to change; and reading from sites. A name is resolved once and
 * its address checked and dialled, so that no second answer can lead elsewhere.
 */
export function createProxyServer(options: ProxyOptions): Server & { end(): Promise<void> } {
  const { policy, dialer } = options;
  const { sites = [] } = policy;
  const open = new Set<Socket>();
  // Apart, so that no number of refusals hides what was reached.
  const [refusals, closings] = [
    createThrottledLogger(options.log, options.now),
    createThrottledLogger(options.log, options.now),
  ];

  const { dial, dialNamed, meter } = createConnections({
    ...options,
    open,
    onRefused: (line) => refusals.note(line),
    onClosed: (line, bytes) => closings.note(line, bytes),
  });

  async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on("error", () => {});
    const target = hostAndPort(request.url ?? "");
    const reach = target && findTunnelSite(sites, target) ? dialNamed : dial;
    const dialled = target
      ? await reach(target.host, target.port, client)
      : refuse(403, "the target is not host:port");
    if (!dialled.ok) {
      refusals.note(`CONNECT ${escapeForLog(request.url)}: ${dialled.reason}`);
      endRefused(client, dialled);
      return;
    }
    const { socket } = dialled;
    const { pass } = meter(`CONNECT ${escapeForLog(request.url)}`, socket);
    client.write("HTTP/1.1 200 Connected\r\n\r\n");
    client.unshift(head);
    client.pipe(pass()).pipe(socket).pipe(pass()).pipe(client);
    // Who ends properly lets arrive what was sent before.
    client.once("finish", () => client.destroy());
    socket.once("close", () => socket.readableEnded || client.destroy());
  }

  /** Connections with a request that is sent on. */
  const relayed = new WeakSet<Duplex>();

  async function relay(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    relayed.add(incoming.socket);
    answer.setHeader("connection", "close");
    const url = URL.parse(incoming.url ?? "");
    const found = url && matchRepository(policy.repositories ?? [], url, incoming.method ?? "");
    const site = url && findUnsignedSite(policy, url, incoming.method);
    const parts = { incoming, answer, dialer, meter };
    const by = (reach: typeof dial) => ({
      ...parts,
      dial: (host: string, port: number) => reach(host, port, incoming.socket),
    });
    const refusal = found
      ? await relayToRepository(found, by(dialNamed))
      : site
        ? await readFromSite(url, by(site.isNamed ? dialNamed : dial))
        : await relayWithCredential(url, policy.credentials, by(dial));
    const what = found ? `${url?.host}${url?.pathname}` : (url?.host ?? "?");
    if (refusal) refusals.note(writeRefusal(incoming, answer, what, refusal));
  }

  // A large push may take longer than Node allows a request; what stands still is ended by idleMs.
  const server = createServer({ requestTimeout: 0 }, (incoming, answer) => {
    relay(incoming, answer).catch(() => incoming.destroy());
  });
  server.maxConnections = options.maxConnections;
  // Or one connection could ask for any number at once.
  server.maxRequestsPerSocket = 1;
  server.on("connect", (incoming, client, head) => {
    // Node does not count it where another request is before it.
    if (relayed.has(client)) client.destroy();
    else tunnel(incoming, client, head).catch(() => client.destroy());
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

/** A site whose host has no credential: else that is to be added. */
function findUnsignedSite(
  { credentials, sites = [] }: EgressPolicy,
  url: URL,
  method: string | undefined,
): EgressSite | undefined {
  return credentials.some(({ host }) => url.host === host) ? undefined : findPlainSite(sites, url, method);
}

function endRefused(client: Duplex, { status, reason }: Refusal): void {
  client.end(`HTTP/1.1 ${status} Refused\r\n${textHead(reason)}\r\n\r\n${reason}\n`);
}

/** Gives the line for the log. */
function writeRefusal(
  { method }: IncomingMessage,
  answer: ServerResponse,
  what: string,
  { status, reason }: Refusal,
): string {
  if (answer.headersSent) answer.destroy();
  else answer.writeHead(status, { "content-type": "text/plain" }).end(`${reason}\n`);
  return `${method} ${escapeForLog(what)}: ${reason}`;
}

function textHead(text: string): string {
  return `Content-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(text) + 1}\r\nConnection: close`;
}

function hostAndPort(target: string): { host: string; port: number } | undefined {
  const match = /^([A-Za-z0-9.-]+):(\d{1,5})$/.exec(target);
  return match?.[1] && match[2] ? { host: match[1].toLowerCase(), port: Number(match[2]) } : undefined;
}

/** What the sandbox wrote, harmless in a log. */
function escapeForLog(text = ""): string {
  return text.slice(0, 300).replace(/[^\x21-\x7e]/g, "?");
}
