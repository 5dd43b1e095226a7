import { createServer, request as send } from "node:http";
import { connect } from "node:net";
import { listen } from "./listen.ts";

/**
 * The proxy of a company, as the only way out: it knows names that nobody else does, and takes all of them to this
 * machine. CONNECT is for whatever is encrypted or a socket, the whole address in the request line for plain HTTP
 * (RFC 9110, 9.3.6, and RFC 9112, 3.2.2).
 */
export async function startProxy() {
  /** Each name that was asked for, with how. */
  const asked: string[] = [];
  const server = createServer((incoming, response) => {
    const target = new URL(incoming.url ?? "");
    asked.push(`${incoming.method} ${target.hostname}`);
    const { method, headers } = incoming;
    const path = target.pathname + target.search;
    const outgoing = send(
      { host: "127.0.0.1", port: target.port, path, method, headers, agent: false },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    outgoing.on("error", () => response.destroy());
    incoming.pipe(outgoing);
  });
  server.on("connect", (incoming, socket, head) => {
    const target = new URL(`http://${incoming.url}`);
    asked.push(`CONNECT ${target.hostname}`);
    const outgoing = connect(Number(target.port || 80), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      outgoing.write(head);
      socket.pipe(outgoing).pipe(socket);
    });
    outgoing.on("error", () => socket.destroy());
    socket.on("error", () => outgoing.destroy());
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    async close() {
      // What was tunnelled ends with its two sides, and would be waited for.
      server.closeAllConnections();
      server.close();
    },
  };
}
