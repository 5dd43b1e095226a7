import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as openRequest,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { type Duplex, pipeline } from "node:stream";
import { finalStatus, refuseUpgrade } from "../sandbox/relayed-answer.ts";
import type { Exposed } from "../sandbox/sandbox.ts";

/**
 * Passes requests on to what a thread serves. What the thread's server answers is written by whoever steers the agent:
 * it gets an origin of its own, none of the console's cookies, and no say about other host names.
 */

/** Of one connection only (RFC 9110, 7.6.1), beside those that `Connection` names. */
const ofConnection = [
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te"],
  ...["trailer", "transfer-encoding", "upgrade"],
];
/** Cookies ignore ports and are sent to all host names below theirs: the console's must not come here. */
const consoleCookie = "heddle_console";
/** Servers for development refuse names that they do not know. */
const toldHost = "localhost";
const gone = "What this preview shows does not answer. Ask in the thread whether its server still runs.\n";

export function forwardRequest(
  { connect }: Exposed,
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
): void {
  const upstream = openRequest({
    createConnection: connect,
    ...(request.method !== undefined && { method: request.method }),
    ...(request.url !== undefined && { path: request.url }),
    headers: { ...cleanRequest(request.headers, address), connection: "close" },
  });
  upstream.on("response", (answer) => {
    response.writeHead(finalStatus(answer), cleanResponse(answer.headers));
    pipeline(answer, response, () => {});
  });
  upstream.on("error", () => {
    if (response.headersSent) return void response.destroy();
    response.writeHead(502, { "content-type": "text/plain; charset=utf-8" });
    response.end(gone);
  });
  refuseUpgrade(upstream);
  response.on("close", () => upstream.destroy());
  pipeline(request, upstream, () => {});
}

/** WebSockets, and what else begins with an upgrade. */
export function forwardUpgrade(
  { connect }: Exposed,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  address: string,
): void {
  const upstream = connect();
  let isThere = false;
  upstream.once("connect", () => {
    isThere = true;
    const { connection = "upgrade", upgrade = "", ...rest } = request.headers;
    const headers = { ...cleanRequest(rest, address), connection, upgrade };
    const lines = Object.entries(headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((one) => `${name}: ${one}`),
    );
    upstream.write(`${request.method} ${request.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
    upstream.write(head);
    pipeline(upstream, socket, upstream, () => {});
  });
  upstream.on("error", () => (isThere ? socket.destroy() : refuse(socket, 502, gone)));
  socket.on("error", () => upstream.destroy());
}

/** Answers on a bare connection, and ends it. */
export function refuse(socket: Duplex, status: number, text: string): void {
  socket.on("error", () => {});
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: text/plain; charset=utf-8",
    `content-length: ${Buffer.byteLength(text)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`);
}

function cleanRequest(headers: IncomingHttpHeaders, address: string): OutgoingHttpHeaders {
  const { cookie, origin, host, ...rest } = withoutConnection(headers);
  const cookies = (cookie ?? "")
    .split(/; */)
    .filter((pair) => pair !== "" && pair.split("=")[0]?.trim() !== consoleCookie);
  const own = host ?? "";
  return {
    ...rest,
    host: toldHost,
    "x-forwarded-host": own,
    "x-forwarded-proto": new URL(address.replace("{id}", "id")).protocol.slice(0, -1),
    ...(cookies.length > 0 && { cookie: cookies.join("; ") }),
    // What the preview's own page sends looks to its server as it would on the machine itself.
    ...(origin !== undefined && {
      origin: URL.parse(origin)?.host === own ? `http://${toldHost}` : origin,
    }),
  };
}

function cleanResponse(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const { "set-cookie": cookies, location, ...rest } = withoutConnection(headers);
  return {
    ...rest,
    "x-robots-tag": "noindex",
    "referrer-policy": "no-referrer",
    ...(cookies !== undefined && {
      "set-cookie": [cookies].flat().map((cookie) => cookie.replaceAll(/;\s*domain=[^;]*/gi, "")),
    }),
    ...(location !== undefined && {
      location: location.replace(/^https?:\/\/(localhost|127\.0\.0\.1)(:\d+)?(?=\/|$)/, "") || "/",
    }),
  };
}

function withoutConnection(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const left = new Set([...ofConnection, ...named]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !left.has(name)));
}
