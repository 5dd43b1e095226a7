import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  CallToolRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListToolsRequestSchema,
  PromptSchema,
  ReadResourceRequestSchema,
  UrlElicitationRequiredError,
} from "@modelcontextprotocol/sdk/types.js";
import type {
  CallToolResult,
  ServerNotification,
  ServerRequest,
  Tool,
} from "@modelcontextprotocol/sdk/types.js";

export interface FixtureOptions {
  /** Tools on one page of the list. Default: all. */
  pageSize?: number;
  /** How often the list fails after `grow`. */
  listFailures?: number;
  /**
   * Further definitions for the list; of those only these can be called: `meet`, which ends when three calls of it run,
   * `client`, which says what the client calls itself, and `whoami`, which says whose account the call was made with.
   */
  more?: Tool[];
  /** What it says about the use of its tools. */
  instructions?: string;
  /** Texts that it has as resources, by URI. */
  resources?: Record<string, string>;
  /**
   * Its prompts, of which `triage` can be got; `broken`: it has some, and cannot list them; `broken-once`: at first, and
   * then with `late`; `silent`: it does not answer
   * before somebody has called `echo`, and then with `late`.
   */
  prompts?: object[] | "broken" | "broken-once" | "silent";
  /** What `crash` and `crash-once` do. The latter asks whether it is the first time. */
  crash?: () => void;
  isFirstCrash?: () => boolean;
}

const input = { type: "object" as const };

const definitions: Tool[] = [
  {
    name: "echo",
    description: "Says it again",
    inputSchema: { ...input, properties: { say: { type: "string" } } },
  },
  { name: "fail", inputSchema: input },
  { name: "hang", inputSchema: input },
  { name: "crash", inputSchema: input },
  { name: "crash-once", inputSchema: input, annotations: { idempotentHint: true } },
  { name: "steps", inputSchema: input, annotations: { readOnlyHint: true } },
  { name: "grow", inputSchema: input },
  { name: "journal", inputSchema: input },
  { name: "pid", inputSchema: input },
];

/** A server whose tools misbehave in one way each. */
export function createFixtureServer(options: FixtureOptions = {}): Server {
  const server = new Server(
    { name: "fixture", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        ...(options.resources && { resources: {} }),
        ...(options.prompts && { prompts: {} }),
      },
      ...(options.instructions !== undefined && { instructions: options.instructions }),
    },
  );
  const tools = [...definitions, ...(options.more ?? [])];
  const journal: string[] = [];

  let failuresLeft = 0;
  let meeting = 0;
  const met = Promise.withResolvers<void>();
  const echoed = Promise.withResolvers<void>();
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    if (failuresLeft > 0) {
      failuresLeft -= 1;
      throw new Error("the catalogue is being printed");
    }
    const start = Number(params?.cursor ?? 0);
    const end = start + (options.pageSize ?? tools.length);
    return { tools: tools.slice(start, end), ...(end < tools.length ? { nextCursor: String(end) } : {}) };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
    run(params.name, params.arguments ?? {}, extra),
  );
  if (options.resources) {
    const { resources } = options;
    server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
      const text = resources[uri];
      if (text === undefined) throw new Error(`no resource ${uri}`);
      return { contents: [{ uri, text }] };
    });
  }
  const { prompts } = options;
  if (prompts) {
    let listed = false;
    server.setRequestHandler(ListPromptsRequestSchema, () => {
      const isFirst = !listed;
      listed = true;
      if (prompts === "broken" || (prompts === "broken-once" && isFirst))
        throw new Error("the prompts are being printed");
      if (prompts === "broken-once") return { prompts: [{ name: "late" }] };
      if (prompts === "silent") return echoed.promise.then(() => ({ prompts: [{ name: "late" }] }));
      return { prompts: prompts.map((each) => PromptSchema.parse(each)) };
    });
    server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
      if (params.name !== "triage") throw new Error(`no prompt ${params.name}`);
      const text = (said: string) => ({ type: "text" as const, text: said });
      return {
        messages: [
          { role: "user", content: text(`Sort the tickets of ${params.arguments?.["project"]}.`) },
          { role: "assistant", content: text("Which first?") },
        ],
      };
    });
  }
  return server;

  async function run(
    name: string,
    args: Record<string, unknown>,
    extra: RequestHandlerExtra<ServerRequest, ServerNotification>,
  ): Promise<CallToolResult> {
    switch (name) {
      case "echo":
        echoed.resolve();
        return say(String(args["say"]));
      case "fail":
        return { isError: true, ...say("the printer is on fire") };
      case "hang":
        journal.push("started");
        await new Promise((resolve) => extra.signal.addEventListener("abort", resolve));
        journal.push("cancelled");
        return say("");
      case "crash-once":
        if (!options.isFirstCrash?.()) return say("second time lucky");
        options.crash?.();
        return await new Promise<never>(() => {});
      case "crash":
        options.crash?.();
        return await new Promise<never>(() => {});
      case "steps": {
        const { _meta: meta } = extra;
        const common = { progressToken: meta?.progressToken ?? "", total: 2, message: "boxes" };
        for (const progress of [1, 2]) {
          await extra.sendNotification({ method: "notifications/progress", params: { ...common, progress } });
        }
        return say("done");
      }
      case "grow":
        failuresLeft = options.listFailures ?? 0;
        tools.push({ name: "grown", inputSchema: input });
        await server.sendToolListChanged();
        return say("grown");
      case "grown":
        return say("fully grown");
      case "meet":
        if ((meeting += 1) === 3) met.resolve();
        await met.promise;
        return say("met");
      case "journal":
        return say(journal.join(" "));
      case "remove": {
        const asked = await server.elicitInput({
          message: "Remove the note *Plans*?",
          requestedSchema: {
            type: "object",
            properties: { how: { type: "string", title: "How", enum: ["Forever", "To the bin"] } },
            required: ["how"],
          },
        });
        return say(`${asked.action}${asked.content ? `: ${String(asked.content["how"])}` : ""}`);
      }
      case "file": {
        const asked = await server.elicitInput({
          message: "What is it about?",
          requestedSchema: {
            type: "object",
            properties: {
              subject: { type: "string", maxLength: 20 },
              count: { type: "integer", minimum: 1 },
              urgent: { type: "boolean", title: "Is it urgent" },
            },
            required: ["subject", "count"],
          },
        });
        return say(`${asked.action} ${JSON.stringify(asked.content ?? {})}`);
      }
      case "options": {
        const titled = (choices: Record<string, string>) =>
          Object.entries(choices).map(([value, title]) => ({ const: value, title }));
        const asked = await server.elicitInput({
          message: "How?",
          requestedSchema: {
            type: "object",
            properties: {
              subject: { type: "string", default: "plans" },
              count: { type: "integer", minimum: 1, default: 2 },
              urgent: { type: "boolean", default: true },
              when: { type: "string", oneOf: titled({ soon: "Soon", late: "Late" }), default: "soon" },
              colours: {
                type: "array",
                items: { anyOf: titled({ r: "Red", b: "Blue" }) },
                default: ["r", "b"],
              },
              // No value of the field's.
              odd: { type: "integer", minimum: 1, default: 0 },
            },
            required: ["odd"],
          },
        });
        return say(`${asked.action} ${JSON.stringify(asked.content ?? {})}`);
      }
      case "password": {
        const properties = { password: { type: "string" as const } };
        const asked = await server.elicitInput({
          message: "Password?",
          requestedSchema: { type: "object", properties },
        });
        return say(asked.action);
      }
      case "pay": {
        const url = `https://pay.example/here?nonce=${Math.random()}`;
        const asked = await server.elicitInput({
          mode: "url",
          message: "Pay first.",
          elicitationId: "e",
          url,
        });
        return say(asked.action);
      }
      case "visit":
        throw new UrlElicitationRequiredError(
          // No check of the package's: a server may send anything.
          (args["elicitations"] as undefined) ?? [
            { mode: "url", message: "Visit it.", elicitationId: "e", url: "https://visit.example/" },
          ],
        );
      case "whoami":
        return say([args["say"], extra.requestInfo?.headers["x-account"]].filter(Boolean).join(""));
      case "client": {
        const { name: client, version } = server.getClientVersion() ?? {};
        return say(`${client} ${version}`);
      }
      case "pid":
        return say(String(process.pid));
      default:
        throw new Error(`no tool ${name}`);
    }
  }
}

function say(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}
