import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Meter } from "./meter.ts";
import type { Credential } from "./policy.ts";

/** Headers of one connection (RFC 9110, 7.6.1), which are not sent on, and what this end sets itself. */
const ownToConnection = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
  "host",
]);

/**
 * Sends a request on over an established connection, with the credential, and its answer back.
 *
 * @returns whether the host has answered that the credential does not count, where that is to be caught: then nothing was
 * answered
 */
export async function forward(exchange: {
  url: URL;
  credential?: Pick<Credential, "header" | "value">;
  incoming: IncomingMessage;
  answer: ServerResponse;
  connection: Socket;
  /** Puts TLS over the connection. Who does must listen to it at once: its errors are for nobody else. Absent for plain http. */
  secure?(connection: Socket): Socket;
  meter: Meter;
  catchesUnauthorized?: boolean;
}): Promise<boolean> {
  const { url, credential, incoming, answer, connection, secure, meter } = exchange;
  const refuse = ({ status, reason }: { status: number; reason: string }) => {
    answer.writeHead(status, { "content-type": "text/plain" }).end(`${reason}\n`);
    return false;
  };
  const noAnswer = { status: 502, reason: `${url.host} did not answer${secure ? " over TLS" : ""}` };
  const refusal = await meter.take(sizeOf(incoming));
  if (refusal !== undefined) return refuse(refusal);
  if (connection.destroyed) return refuse(noAnswer);
  const { authorization: _own, ...headers } = incoming.headers;
  const sent = request({
    createConnection: () => secure?.(connection) ?? connection,
    method: incoming.method ?? "GET",
    path: `${url.pathname}${url.search}`,
    headers: {
      // Who catches refusals answers for who signs in.
      ...endToEnd(exchange.catchesUnauthorized ? headers : incoming.headers),
      // Else Node would send the body of some methods as it is, and it could pass for the next request.
      ...(incoming.headers["transfer-encoding"] !== undefined && { "transfer-encoding": "chunked" }),
      host: url.host,
      // Whatever the sandbox wrote there does not count.
      ...(credential && { [credential.header.toLowerCase()]: credential.value }),
    },
  });
  const answered = Promise.withResolvers<boolean>();
  sent.on("response", (response) => {
    response.on("error", () => answer.destroy());
    const isCaught = exchange.catchesUnauthorized === true && response.statusCode === 401;
    answered.resolve(isCaught);
    if (isCaught)
      return void sent
        .off("error", fail)
        .on("error", () => {})
        .destroy();
    const pass = async () => {
      if ((await meter.take(sizeOf(response))) !== undefined) return answer.destroy();
      if (answer.headersSent) return undefined; // The host has broken off meanwhile, which is told already.
      const { statusCode = 0 } = response;
      // What is below is no final answer, and Node refuses to write it.
      answer.writeHead(statusCode < 200 ? 502 : statusCode, endToEnd(response.headers));
      return response.pipe(meter.pass()).pipe(answer);
    };
    pass().catch(() => answer.destroy());
  });
  const fail = () => {
    answered.resolve(false);
    if (answer.headersSent) answer.destroy();
    else refuse(noAnswer);
  };
  sent.on("error", fail);
  answer.on("close", () => {
    answered.resolve(false);
    sent.destroy();
  });
  // One that is made again has been read before.
  if (incoming.readableEnded) sent.end();
  else incoming.pipe(meter.pass()).pipe(sent);
  return answered.promise;
}

/** Of a message without its body, about. */
function sizeOf({ url = "", rawHeaders }: IncomingMessage): number {
  return Buffer.byteLength([url, ...rawHeaders].join("\r\n"));
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = (headers.connection ?? "").toLowerCase().split(/\s*,\s*/);
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => name === "content-length" || !(ownToConnection.has(name) || named.includes(name)),
    ),
  );
}
