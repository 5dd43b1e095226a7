import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

/**
 * A server process of 2026-07-28, written from the specification and with no package of it, so that a mistake which
 * client and server share cannot hide. `FIXTURE` (JSON) says what is odd about it; `JOURNAL` is a file that gets a line
 * for each start and each request.
 *
 * - https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning: `initialize` is refused with an error of the
 *   server's choice that names what it supports, unless it speaks both; a request of another version is refused with
 *   -32022.
 * - https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta: each request has version and capabilities
 *   in `_meta`; one without is refused.
 * - https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions: changes are told to those alone
 *   who listen, with the id of their request, after it was acknowledged.
 * - https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr: what it needs to know it answers with,
 *   and it never sends a request.
 */
interface ProcessFixture {
  /** With which error it refuses `initialize`. */
  refusal?: { code: number; message: string; data?: object };
  /** It speaks 2025-11-25, too. */
  both?: boolean;
  /** It knows no `server/discover`, as servers of older versions do not. */
  older?: boolean;
  /** It ends at `server/discover`. */
  dies?: boolean;
}

interface Message {
  id?: number | string;
  method: string;
  params?: {
    name?: string;
    notifications?: Record<string, boolean>;
    inputResponses?: Record<string, { action: string; content?: { how?: string } }>;
    requestState?: string;
    _meta?: Record<string, unknown>;
  };
}

const fixture: ProcessFixture = JSON.parse(process.env["FIXTURE"] ?? "{}");
const prefix = "io.modelcontextprotocol/";
const version = "2026-07-28";
const unsupported = (requested: unknown) => ({
  code: -32_022,
  message: "Unsupported protocol version",
  data: { supported: [version], requested },
});
const tools = ["trace", "remove", "grow", "steps", "crash"];
const listeners = new Set<number | string>();
/** After the handshake of 2025-11-25, which selects its semantics for the life of the process. */
let isGreeted = false;

function write(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function note(line: string): void {
  const { JOURNAL: journal } = process.env;
  if (journal) appendFileSync(journal, `${line}\n`);
}

note("start");
createInterface({ input: process.stdin }).on("line", (line) => {
  const message: Message = JSON.parse(line);
  note(message.method);
  if (message.id !== undefined) answer(message.id, message);
  else if (message.method === "notifications/cancelled") listeners.clear();
});

function answer(id: number | string, { method, params = {} }: Message): void {
  const result = (body: object) => write({ id, result: { resultType: "complete", ...body } });
  const refuse = (error: object) => write({ id, error });
  const { _meta: meta = {} } = params;
  const named = meta[`${prefix}protocolVersion`];
  const cached = { ttlMs: 3_600_000, cacheScope: "private" };
  if (method === "initialize") {
    if (!fixture.both) return refuse(fixture.refusal ?? unsupported("2025-11-25"));
    isGreeted = true;
    const serverInfo = { name: "fixture", version: "1.0.0" };
    return write({ id, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo } });
  }
  if (fixture.older) return refuse({ code: -32_601, message: `Method not found: ${method}` });
  if (!isGreeted && (named === undefined || !meta[`${prefix}clientCapabilities`]))
    return refuse({ code: -32_602, message: "_meta names no version and capabilities" });
  if (!isGreeted && named !== version) return refuse(unsupported(named));
  switch (method) {
    case "server/discover":
      if (fixture.dies) return crash();
      return result({
        ...{ ...cached, supportedVersions: [version], instructions: "Look before." },
        capabilities: { tools: { listChanged: true } },
      });
    case "tools/list":
      return result({ ...cached, tools: tools.map((name) => ({ name, inputSchema: { type: "object" } })) });
    case "subscriptions/listen":
      listeners.add(id);
      return write({
        method: "notifications/subscriptions/acknowledged",
        params: { _meta: { [`${prefix}subscriptionId`]: id }, notifications: params.notifications },
      });
    case "tools/call":
      return call(params, meta, result);
    default:
      return refuse({ code: -32_601, message: `Method not found: ${method}` });
  }
}

function call(
  params: NonNullable<Message["params"]>,
  meta: Record<string, unknown>,
  result: (body: object) => void,
): void {
  const say = (text: string) => result({ content: [{ type: "text", text }] });
  switch (params.name) {
    case "trace":
      return say(String(meta["traceparent"]));
    case "steps": {
      const progressToken = meta["progressToken"];
      for (const progress of [1, 2])
        write({
          method: "notifications/progress",
          params: { progressToken, progress, total: 2, message: "boxes" },
        });
      return say("done");
    }
    case "grow":
      tools.push("grown");
      for (const id of listeners)
        write({
          method: "notifications/tools/list_changed",
          params: { _meta: { [`${prefix}subscriptionId`]: id } },
        });
      return say("grown");
    case "remove": {
      const { how } = params.inputResponses ?? {};
      if (how && params.requestState !== "42") return say("the state is not what I gave");
      if (how) return say(how.action === "accept" ? `removed: ${how.content?.how}` : "not removed");
      const requestedSchema = {
        type: "object",
        properties: { how: { type: "string", enum: ["Forever", "To the bin"] } },
        required: ["how"],
      };
      const asked = {
        method: "elicitation/create",
        params: { mode: "form", message: "How?", requestedSchema },
      };
      return result({ resultType: "input_required", inputRequests: { how: asked }, requestState: "42" });
    }
    default:
      return crash();
  }
}

function crash(): never {
  console.error("Segmentation fault (pretended)");
  process.exit(9);
}
