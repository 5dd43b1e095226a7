import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { type AddressList, networkOf } from "./client-address.ts";
import { maxStreams } from "../streams/streams.ts";
import { replyProblem, send } from "./http.ts";

/** How many connections a server holds; `address`: from one IPv4 address or one /64 of IPv6. */
export interface ConnectionLimits {
  total: number;
  address: number;
}

/** Far more than the pages of one household need: their streams, and what they fetch beside them. */
export const consoleLimits: ConnectionLimits = { total: 8 * maxStreams, address: 3 * maxStreams };

/** A header line takes milliseconds; who is slower than this holds a connection for nothing. */
const headersMs = 10_000;
/** Until the whole body is there. */
const bodyMs = 30_000;
/** Beyond that a file of somebody who may send one may come as slowly as half a megabit a second. */
const fileBytesPerMs = 64;
/** Longer than the largest file may take. */
const requestMs = 6 * 60_000;
/** How often Node looks for requests over their time. */
const checkMs = 1_000;

/**
 * A server that connections without work cannot fill. One that exceeds a limit takes the place of the longest open one that
 * is not pinned, from the same address or else from the address with the most; where all are pinned it is closed.
 * @param proxies may hold as many as there are
 */
export function createLimitedServer(
  limits: ConnectionLimits,
  proxies: AddressList,
  listener: RequestListener,
): Server {
  const server = createServer(
    { headersTimeout: headersMs, requestTimeout: requestMs, connectionsCheckingInterval: checkMs },
    (request, response) => {
      limitBody(request, response);
      listener(request, response);
    },
  );
  const byNetwork = new Map<string, Set<Socket>>();
  let open = 0;

  const evict = (sockets: Iterable<Socket> | undefined): boolean => {
    for (const socket of sockets ?? []) {
      if (pinned.has(socket)) continue;
      forget(socket);
      socket.destroy();
      return true;
    }
    return false;
  };
  const forget = (socket: Socket) => {
    const network = networks.get(socket);
    if (network === undefined) return;
    networks.delete(socket);
    open -= 1;
    const sockets = byNetwork.get(network);
    sockets?.delete(socket);
    if (sockets?.size === 0) byNetwork.delete(network);
  };
  const networks = new Map<Socket, string>();
  const makeRoom = (network: string, isProxy: boolean): boolean => {
    const own = byNetwork.get(network);
    if (!isProxy && (own?.size ?? 0) >= limits.address) return evict(own);
    if (open < limits.total) return true;
    // Those that hold the most give way first.
    return [...byNetwork.values()].toSorted((a, b) => b.size - a.size).some(evict);
  };

  server.on("connection", (socket: Socket) => {
    const peer = socket.remoteAddress ?? "";
    const network = networkOf(peer);
    if (!makeRoom(network, proxies.has(peer))) return void socket.destroy();
    open += 1;
    networks.set(socket, network);
    const sockets = byNetwork.get(network) ?? new Set();
    byNetwork.set(network, sockets.add(socket));
    socket.once("close", () => forget(socket));
  });
  return server;
}

const moreMs = new WeakMap<IncomingMessage, number>();

/**
 * Lets a body of so many bytes take longer than others: it is a file, of somebody who may send one. As there is room for few
 * bytes at a time, few connections can be held so, and small bodies hold none.
 */
export function giveTime(request: IncomingMessage, bytes: number): void {
  moreMs.set(request, bytes / fileBytesPerMs);
}

/** Node has one time for all requests, which is set before it is known whose they are. */
function limitBody(request: IncomingMessage, response: ServerResponse): void {
  const end = () => {
    if (request.complete) return;
    const more = moreMs.get(request);
    moreMs.delete(request);
    if (more !== undefined) return void (timer = setTimeout(end, more).unref());
    if (response.headersSent) return void request.socket.destroy();
    const reply = replyProblem(408, "The request took too long to arrive.");
    response.once("finish", () => request.socket.destroy());
    send(response, { ...reply, headers: { ...reply.headers, connection: "close" } });
  };
  let timer = setTimeout(end, bodyMs).unref();
  request.once("close", () => clearTimeout(timer));
}

/** Connections on which somebody who may is being answered. */
const pinned = new WeakSet<Socket>();

/** Keeps the connection of this response until it has ended: it is for somebody who may have it. */
export function pinConnection(response: ServerResponse): void {
  const { socket } = response;
  if (!socket) return;
  pinned.add(socket);
  response.once("close", () => pinned.delete(socket));
}
