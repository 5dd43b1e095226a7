/**
 * The common floor of the fake model services: a loopback HTTP server that reads JSON, keeps a log of the
 * requests and answers with JSON or with server-sent events that may be slow, stall or break off.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { closeServer, listen } from "./listen.ts";

/** A request as it was received. */
export interface WireRequest {
  method: string;
  /** With the query, without the host. */
  path: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** The parsed JSON; undefined when there was none or it could not be parsed. */
  body: unknown;
  /** The body as it came. */
  rawBody: string;
  /** Resolves when the client goes away before the answer is complete; else never. */
  aborted: Promise<void>;
}

/** One server-sent event. `data` is sent as it is, so it must not contain a line break. */
export interface SseEvent {
  event?: string;
  data: string;
}

/**
 * An answer. A stream that `stall`s stays open and silent after its last event until the client leaves or the
 * server is closed; one that is `cut` loses its connection there.
 */
export type WireReply =
  | { type: "json"; status: number; headers?: Record<string, string>; body: unknown }
  | {
      type: "stream";
      events: readonly SseEvent[];
      end?: "complete" | "stall" | "cut";
      /** Milliseconds before each event. Default 0. */
      delayMs?: number;
      headers?: Record<string, string>;
    };

export interface WireServer {
  /** `http://127.0.0.1:PORT`, without a trailing slash. */
  url: string;
  /** Every request in the order of arrival. */
  requests: readonly WireRequest[];
  /** The request with this number, counted from 1; waits for it. */
  request(number: number): Promise<WireRequest>;
  /** Those that bring something (POST), without questions about models, which a start asks whenever it comes to it. */
  calls: readonly WireRequest[];
  /** The call with this number, counted from 1; waits for it. */
  call(number: number): Promise<WireRequest>;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** Starts a server on a free loopback port. An `answer` that throws becomes HTTP 500 with the error's text. */
export async function startWireServer(
  answer: (request: WireRequest) => WireReply | Promise<WireReply>,
): Promise<WireServer> {
  const requests: WireRequest[] = [];
  const calls: WireRequest[] = [];
  const arrivals = new EventTarget();

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const request = await readRequest(incoming, outgoing);
    requests.push(request);
    if (request.method === "POST") calls.push(request);
    arrivals.dispatchEvent(new Event("request"));
    const reply = await Promise.try(answer, request).catch((error: unknown): WireReply => {
      return { type: "json", status: 500, body: { error: { type: "fake_failed", message: String(error) } } };
    });
    await send(reply, outgoing);
  };

  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  });
  const port = await listen(server);

  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    request: (number) => waitFor(requests, number, arrivals),
    calls,
    call: (number) => waitFor(calls, number, arrivals),
    async close() {
      await closeServer(server);
    },
  };
}

async function waitFor(
  list: readonly WireRequest[],
  number: number,
  arrivals: EventTarget,
): Promise<WireRequest> {
  for (;;) {
    const request = list[number - 1];
    if (request) return request;
    await once(arrivals, "request");
  }
}

async function readRequest(incoming: IncomingMessage, outgoing: ServerResponse): Promise<WireRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const rawBody = Buffer.concat(chunks).toString("utf8");
  const left = Promise.withResolvers<void>();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) left.resolve();
  });
  return {
    method: incoming.method ?? "",
    path: incoming.url ?? "",
    headers: Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
    ),
    body: parseJson(rawBody),
    rawBody,
    aborted: left.promise,
  };
}

/** Whether there is half of a surrogate pair in a text of the value: JSON takes it, and the services do not. */
export function hasHalfPair(value: unknown): boolean {
  if (typeof value === "string") return !value.isWellFormed();
  return typeof value === "object" && value !== null && Object.entries(value).flat().some(hasHalfPair);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function send(reply: WireReply, outgoing: ServerResponse): Promise<void> {
  if (reply.type === "json") {
    outgoing.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
    outgoing.end(JSON.stringify(reply.body));
    return;
  }
  outgoing.writeHead(200, { "content-type": "text/event-stream", ...reply.headers });
  outgoing.flushHeaders();
  for (const { event, data } of reply.events) {
    if (reply.delayMs) await sleep(reply.delayMs);
    if (outgoing.destroyed) return;
    const chunk = `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`;
    // Each event is handed to the socket before the next one, so that a cut loses none of them.
    await new Promise<void>((written) => outgoing.write(chunk, () => written()));
  }
  switch (reply.end ?? "complete") {
    case "complete":
      outgoing.end();
      break;
    case "cut":
      outgoing.destroy();
      break;
    case "stall":
      break;
  }
}
