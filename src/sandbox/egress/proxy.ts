import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Allowance } from "./allowance.ts";
import { createConnections, idleMs } from "./connections.ts";
import type { Dialer } from "./dialer.ts";
import { forward } from "./forward.ts";
import type { EgressPolicy } from "./policy.ts";
import { type Refusal, refuse } from "./refusal.ts";
import { relayToRepository } from "./relay-repository.ts";
import { matchRepository } from "./repository.ts";
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
 * The proxy of one thread. It knows three things: tunnels (`CONNECT`) to listed hosts, in which it sees nothing; plain
 * requests to hosts with a credential, which it sends on over TLS with the credential added; and those of git for the
 * thread's repositories, of which it reads what a push is to change. A name is resolved once and its address checked and dialled, so that no second answer can lead elsewhere.
 */
export function createProxyServer(options: ProxyOptions): Server & { end(): Promise<void> } {
  const { policy, dialer } = options;
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
    const dialled = target
      ? await dial(target.host, target.port, client)
      : refuse(403, "the target is not host:port");
    if (!dialled.ok) {
      refusals.note(`CONNECT ${escapeForLog(request.url)}: ${dialled.reason}`);
      client.end(
        `HTTP/1.1 ${dialled.status} Refused\r\n${textHead(dialled.reason)}\r\n\r\n${dialled.reason}\n`,
      );
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

  async function relay(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    answer.setHeader("connection", "close");
    const url = URL.parse(incoming.url ?? "");
    const found = url && matchRepository(policy.repositories ?? [], url, incoming.method ?? "");
    if (!found) return relayWithCredential(url, incoming, answer);
    const refusal = await relayToRepository(found, {
      ...{ incoming, answer, dialer, meter },
      dial: (host, port) => dialNamed(host, port, incoming.socket),
    });
    if (refusal) refusals.note(writeRefusal(incoming, answer, `${url.host}${url.pathname}`, refusal));
  }

  async function relayWithCredential(
    url: URL | null,
    incoming: IncomingMessage,
    answer: ServerResponse,
  ): Promise<void> {
    const credential = policy.credentials.find(({ host }) => host === url?.hostname);
    const plain = url?.protocol === "http:" && url.port === "" && incoming.method !== "TRACE";
    const dialled =
      plain && credential
        ? await dial(url.hostname, 443, incoming.socket)
        : refuse(403, "only https is open; plain http is for hosts with a credential, which the proxy adds");
    if (!dialled.ok || !url || !credential) {
      const refusal = dialled.ok ? refuse(403, "no credential") : dialled;
      refusals.note(writeRefusal(incoming, answer, url?.hostname ?? "?", refusal));
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
