import type { IncomingMessage, ServerResponse } from "node:http";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { pinConnection } from "../server/connections.ts";
import { maxBodyBytes } from "../api/conversation-routes.ts";
import { readJson, type Reply, replyProblem } from "../server/http.ts";
import type { Services } from "../services.ts";
import { createMcpServer, type McpCaller } from "./tools.ts";

/**
 * Answers a request to `/mcp`: Streamable HTTP of the Model Context Protocol without sessions, so that any gateway answers any
 * request. Null when the response is written by the transport. The console has checked host and origin before, as
 * https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#security-warning wants it.
 */
export async function answerMcp(
  services: Services,
  request: IncomingMessage,
  response: ServerResponse,
  confirm: McpCaller["confirm"],
): Promise<Reply | null> {
  const who = await services.authGuard.authenticate(request);
  if (!who.ok) {
    const { status, error } = who.refusal;
    const refusal = replyProblem(status, error);
    return status === 401
      ? { ...refusal, headers: { ...refusal.headers, "www-authenticate": "Bearer" } }
      : refusal;
  }
  if (request.method !== "POST") {
    // Without sessions there is no stream to open and none to end.
    const refusal = replyProblem(405, "Heddle answers MCP requests by POST alone: it keeps no sessions.");
    return { ...refusal, headers: { ...refusal.headers, allow: "POST" } };
  }
  pinConnection(response);
  const body = await readJson(request, maxBodyBytes);
  if (!body.ok) return body.reply;

  const gone = new AbortController();
  const server = createMcpServer({ services, person: who.person, confirm, signal: gone.signal });
  const transport = new StreamableHTTPServerTransport({});
  response.once("close", () => {
    gone.abort();
    void server.close();
  });
  await server.connect(transport);
  await transport.handleRequest(request, response, body.value);
  return null;
}
