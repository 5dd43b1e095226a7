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
    headers: {
      ...cleanRequest(request.headers, address),
      // Else Node would send the body of some methods as it is, and it could pass for the next request.
      ...(request.headers["transfer-encoding"] !== undefined && { "transfer-encoding": "chunked" }),
      connection: "close",
    },
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

/**
 * WebSockets, and what else begins with an upgrade. The answer is read and cleaned as any other; what follows is passed on
 * as it is, and only once the server has agreed: else it could be further requests, which nobody would clean.
 */
export function forwardUpgrade(
  { connect }: Exposed,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  address: string,
): void {
  if (hasBody(request)) return refuse(socket, 400, "A request with a body cannot be an upgrade.\n");
  const upstream = openRequest({
    createConnection: connect,
    ...(request.method !== undefined && { method: request.method }),
    ...(request.url !== undefined && { path: request.url }),
    headers: { ...cleanRequest(request.headers, address), ...upgradeOf(request) },
  });
  let isAnswered = false;
  const answerWith = (answer: IncomingMessage, status: number, own: OutgoingHttpHeaders) => {
    isAnswered = true;
    socket.write(formatHead(status, { ...cleanResponse(answer.headers), ...own }), "latin1");
  };
  upstream.on("upgrade", (answer, far, first) => {
    answerWith(answer, 101, upgradeOf(answer));
    socket.write(first);
    far.write(head);
    pipeline(far, socket, far, () => {});
  });
  upstream.on("response", (answer) => {
    answerWith(answer, finalStatus(answer), { connection: "close" });
    // Nothing else reads it, and its end would not be noticed.
    socket.resume();
    pipeline(answer, socket, () => {});
  });
  upstream.on("error", () => (isAnswered ? socket.destroy() : refuse(socket, 502, gone)));
  socket.on("error", () => {});
  socket.on("close", () => upstream.destroy());
  upstream.end();
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function upgradeOf({ headers: { upgrade = "" } }: IncomingMessage): OutgoingHttpHeaders {
  return { connection: "upgrade", upgrade };
}

function formatHead(status: number, headers: OutgoingHttpHeaders): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}: ${one}\r\n`),
  );
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Unknown"}\r\n${lines.join("")}\r\n`;
}

/** Whoever asks has so long to close the connection too, ms: the server no longer looks after it. */
const lingerMs = 1_000;

/** Answers on a bare connection, and ends it. */
export function refuse(socket: Duplex, status: number, text: string): void {
  socket.on("error", () => {});
  const head = formatHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    connection: "close",
  });
  socket.end(head + text);
  // Nothing else reads it, and its end would not be noticed.
  socket.resume();
  const late = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once("close", () => clearTimeout(late));
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
      "set-cookie": [cookies].flat().map(withoutDomain),
    }),
    ...(location !== undefined && {
      location: location.replace(/^https?:\/\/(localhost|127\.0\.0\.1)(:\d+)?(?=\/|$)/, "") || "/",
    }),
  };
}

/** As browsers read a cookie (RFC 6265, 5.2): blanks around an attribute's name do not count. */
function withoutDomain(cookie: string): string {
  const [pair = "", ...attributes] = cookie.split(";");
  const isDomain = (attribute: string) => attribute.split("=")[0]?.trim().toLowerCase() === "domain";
  return [pair, ...attributes.filter((attribute) => !isDomain(attribute))].join(";");
}

function withoutConnection(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const left = new Set([...ofConnection, ...named]);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !left.has(name)));
}
