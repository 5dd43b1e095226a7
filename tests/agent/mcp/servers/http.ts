import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { randomUUID } from "node:crypto";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createFixtureServer } from "./fixture.ts";
import type { FixtureOptions } from "./fixture.ts";

export interface HttpFixture {
  url: string;
  port: number;
  /** Headers of the requests so far, newest last. */
  headers: IncomingMessage["headers"][];
  /** How many sessions a client has ended properly. */
  ended: number;
  /** Ends every connection, in the middle of a response if need be, and stops. */
  stop(): Promise<void>;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Serves the fixture on loopback, under `/mcp`, in one of the two HTTP transports. */
export async function startHttpFixture(
  kind: "http" | "sse",
  port = 0,
  options: FixtureOptions = {},
): Promise<HttpFixture> {
  const fixture = { headers: [] as IncomingMessage["headers"][], ended: 0 };
  const handle = kind === "http" ? streamable(options, () => (fixture.ended += 1)) : sse(options);
  const server = createServer((request, response) => {
    fixture.headers.push(request.headers);
    void handle(request, response);
  });
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the fixture does not listen on TCP");
  return Object.assign(fixture, {
    url: `http://127.0.0.1:${address.port}/mcp`,
    port: address.port,
    async stop() {
      const closed = once(server, "close");
      server.close();
      // Not destroyed: a socket that is ended closes when the client has seen it, so nobody is taken by surprise.
      for (const socket of sockets) socket.end();
      await closed;
    },
  });
}

function streamable(options: FixtureOptions, onSessionEnd: () => void): Handler {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return async (request, response) => {
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? sessions.get(id) : undefined;
    if (id !== undefined && !known) {
      response.writeHead(404).end("Session not found");
      return;
    }
    if (request.method === "DELETE") onSessionEnd();
    if (known) return await known.handleRequest(request, response);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, transport),
    });
    await createFixtureServer(options).connect(transport);
    await transport.handleRequest(request, response);
  };
}

function sse(options: FixtureOptions): Handler {
  const sessions = new Map<string, SSEServerTransport>();
  return async (request, response) => {
    if (request.method === "GET") {
      const transport = new SSEServerTransport("/mcp", response);
      sessions.set(transport.sessionId, transport);
      return await createFixtureServer(options).connect(transport);
    }
    const id = new URL(request.url ?? "", "http://localhost").searchParams.get("sessionId") ?? "";
    const transport = sessions.get(id);
    if (transport) await transport.handlePostMessage(request, response);
    else response.writeHead(404).end("Session not found");
  };
}
