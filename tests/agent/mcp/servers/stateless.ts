import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import {
  acceptedContent,
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
  McpServer,
} from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { closeServer, listen } from "../../../fakes/listen.ts";

export interface StatelessFixture {
  url: string;
  /** The protocol's version that each request names, and its method, as the headers say; newest last. */
  requests: { version: string | undefined; method: string | undefined; name: string | undefined }[];
  /** Headers of the newest call that repeat arguments. */
  params: Record<string, string>;
  /** What it offers beside the rest, from now on. */
  offer(tools: readonly OfferedTool[], told?: "told"): void;
  /** How many streams are open that changes are told on. */
  listening(): number;
  /** Ends all connections, as a proxy does that has had enough. */
  hangUp(): void;
}

/** A tool with these properties, which answers with its arguments. */
export interface OfferedTool {
  name: string;
  properties: Record<string, object>;
}

/**
 * A server of the protocol's own package for 2026-07-28, on loopback. `legacy`: whether it speaks with clients of older
 * versions too.
 */
export async function startStatelessServer(
  legacy: "stateless" | "reject",
  { prompts = false }: { prompts?: boolean } = {},
): Promise<StatelessFixture> {
  let offered: readonly OfferedTool[] = [];
  const handler = createMcpHandler(() => createFixture(offered, prompts), { legacy });
  const requests: StatelessFixture["requests"] = [];
  const streams = new Set<ServerResponse>();
  const fixture: Pick<StatelessFixture, "params"> = { params: {} };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const read = (name: string) => {
      const value = request.headers[name];
      return typeof value === "string" ? value : undefined;
    };
    requests.push({
      version: read("mcp-protocol-version"),
      method: read("mcp-method"),
      name: read("mcp-name"),
    });
    if (read("mcp-method") === "tools/call")
      fixture.params = Object.fromEntries(
        Object.keys(request.headers)
          .filter((name) => name.startsWith("mcp-param-"))
          .map((name) => [name, read(name) ?? ""]),
      );
    const body = Buffer.concat(await Array.fromAsync<Buffer>(request));
    if (read("mcp-name") === "long") return refuse(body, response);
    const answered = await handler.fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        method: request.method ?? "GET",
        headers: Object.entries(request.headers).map(([name, value]): [string, string] => [
          name,
          String(value),
        ]),
        ...(body.length > 0 && { body }),
      }),
    );
    if (read("mcp-method") === "subscriptions/listen") {
      streams.add(response);
      response.once("close", () => streams.delete(response));
    }
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    if (answered.body) Readable.from(answered.body).pipe(response);
    else response.end();
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const port = await listen(server);
  onTestFinished(async () => {
    await handler.close();
    await closeServer(server);
  });
  return Object.assign(fixture, {
    url: `http://127.0.0.1:${port}/mcp`,
    requests,
    listening: () => streams.size,
    hangUp: () => server.closeAllConnections(),
    offer(tools: readonly OfferedTool[], told?: "told") {
      offered = tools;
      if (told) handler.notify.toolsChanged();
    },
  });
}

/** https://modelcontextprotocol.io/extensions/tasks: a server that can answer with a task alone. */
function refuse(body: Buffer, response: ServerResponse): void {
  const { id }: { id: number } = JSON.parse(body.toString());
  const error = {
    code: -32_021,
    message: "Missing required client capabilities: extensions",
    data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
  };
  response.writeHead(400, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
}

function createFixture(offered: readonly OfferedTool[], hasPrompts: boolean): McpServer {
  const server = new McpServer({ name: "fixture", version: "1.0.0" }, { instructions: "Echo first." });
  const say = (text: string) => ({ content: [{ type: "text" as const, text }] });
  server.registerTool("echo", { inputSchema: z.object({ say: z.string() }) }, async (input) =>
    say(input.say),
  );
  server.registerTool("trace", { inputSchema: z.object({}) }, async (_input, { mcpReq: { _meta: meta } }) =>
    say(String(meta?.["traceparent"])),
  );
  server.registerTool("remove", { inputSchema: z.object({}) }, async (_input, context) => {
    const how = acceptedContent<{ how: string }>(context.mcpReq.inputResponses, "how");
    if (how) return say(`removed: ${how.how}`);
    if (context.mcpReq.inputResponses) return say("not removed");
    return inputRequired({
      inputRequests: {
        how: inputRequired.elicit({
          message: "How?",
          requestedSchema: {
            type: "object",
            properties: { how: { type: "string", enum: ["Forever", "To the bin"] } },
            required: ["how"],
          },
        }),
      },
    });
  });
  for (const { name, properties } of offered)
    server.registerTool(
      name,
      { inputSchema: fromJsonSchema<Record<string, unknown>>({ type: "object", properties }) },
      async (input) => say(JSON.stringify(input)),
    );
  if (hasPrompts)
    server.registerPrompt(
      "triage",
      {
        description: "Sorts what is new",
        argsSchema: z.object({
          project: z.string().describe("Its short name, as in the tracker"),
          since: z.string().optional(),
        }),
      },
      ({ project }) => ({
        messages: [
          { role: "user", content: { type: "text", text: `Sort the tickets of ${project}.` } },
          { role: "assistant", content: { type: "text", text: "Which first?" } },
        ],
      }),
    );
  // Answered above.
  server.registerTool("long", { inputSchema: z.object({}) }, async () => say(""));
  return server;
}
