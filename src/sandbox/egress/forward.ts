import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Meter } from "./meter.ts";
import type { Credential } from "./policy.ts";
import { finalStatus, refuseUpgrade } from "../relayed-answer.ts";

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

export interface Caught {
  status: number;
  /** Where the host sends whoever asked, as it says it. */
  location: string | undefined;
}

/**
 * Sends a request on over an established connection, with the credential, and its answer back.
 *
 * @returns what the host has answered where that is to be caught: then nothing was answered
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
  /** Who catches answers, answers for who signs in. */
  catches?(status: number): boolean;
}): Promise<Caught | undefined> {
  const { url, credential, incoming, answer, connection, secure, meter } = exchange;
  const refuse = ({ status, reason }: { status: number; reason: string }) => {
    answer.writeHead(status, { "content-type": "text/plain" }).end(`${reason}\n`);
    return undefined;
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
      ...endToEnd(exchange.catches ? headers : incoming.headers),
      // Else Node would send the body of some methods as it is, and it could pass for the next request.
      ...(incoming.headers["transfer-encoding"] !== undefined && { "transfer-encoding": "chunked" }),
      host: url.host,
      // Whatever the sandbox wrote there does not count.
      ...(credential && { [credential.header.toLowerCase()]: credential.value }),
    },
  });
  const answered = Promise.withResolvers<Caught | undefined>();
  sent.on("response", (response) => {
    response.on("error", () => answer.destroy());
    const { statusCode: status = 0 } = response;
    const isCaught = exchange.catches?.(status) === true;
    answered.resolve(isCaught ? { status, location: response.headers.location } : undefined);
    if (isCaught)
      return void sent
        .off("error", fail)
        .on("error", () => {})
        .destroy();
    const pass = async () => {
      if ((await meter.take(sizeOf(response))) !== undefined) return answer.destroy();
      if (answer.headersSent) return undefined; // The host has broken off meanwhile, which is told already.
      answer.writeHead(finalStatus(response), endToEnd(response.headers));
      return response.pipe(meter.pass()).pipe(answer);
    };
    pass().catch(() => answer.destroy());
  });
  const fail = () => {
    answered.resolve(undefined);
    if (answer.headersSent) answer.destroy();
    else refuse(noAnswer);
  };
  sent.on("error", fail);
  refuseUpgrade(sent);
  answer.on("close", () => {
    answered.resolve(undefined);
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
  const named = (headers.connection ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => name === "content-length" || !(ownToConnection.has(name) || named.includes(name)),
    ),
  );
}
