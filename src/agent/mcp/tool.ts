import { createHash } from "node:crypto";
import type { ElicitRequest, ElicitResult, Progress } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { defineTool, type Tool, type ToolResult } from "../tools/tool.ts";
import { describeUnanswered } from "./people/answer-tool.ts";
import type { Asker } from "./people/asker.ts";
import type { McpCallOutcome } from "./call.ts";
import type { EnabledServer, McpTimeouts } from "./config.ts";
import type { Connection } from "./connection.ts";
import type { InputStore } from "../contracts/input-store.ts";
import { elicit, type Unanswered } from "./people/elicitation.ts";
import type { ServerTool } from "./listing/listing.ts";
import { nameConnectTool, toModelToolName } from "./listing/names.ts";
import { toToolResult } from "./result.ts";

/** A server's tool as the agent calls it. The server validates the input; we only make sure that it is an object. */
export function createMcpTool(
  server: EnabledServer,
  connection: Connection,
  tool: ServerTool,
  timeouts: McpTimeouts,
  { inputs, trace }: { inputs?: CallInputs | undefined; trace?: string | undefined } = {},
): Tool {
  return defineTool({
    name: toModelToolName(server.name, tool.name),
    description: tool.description,
    input: z.record(z.string(), z.unknown()),
    schema: tool.schema,
    ...(server.always && { always: true }),
    effect: server.trust && tool.claims.readOnly ? "read" : "external",
    timeoutMs: findTimeLimit(timeouts),
    async run(input, context) {
      const onProgress = (progress: Progress) => context.output(formatProgress(progress));
      const unanswered: Unanswered[] = [];
      const request = {
        ...{ tool: tool.name, input, signal: context.signal, onProgress, trace },
        ...(inputs && {
          onElicit: askPerson(inputs, { server: server.name, call: digest([tool.name, input]) }, unanswered),
        }),
      };
      const outcome = await connection.call(request, tool.claims.idempotent);
      const result = describeOutcome(outcome, server.name, timeouts);
      return { ...result, text: result.text + describeUnanswered(server.name, unanswered) };
    },
  });
}

/** Who answers what servers ask during calls. */
export interface CallInputs {
  store: InputStore;
  asker: Asker;
}

function digest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url");
}

function askPerson(
  { store, asker }: CallInputs,
  about: { server: string; call: string },
  unanswered: Unanswered[],
) {
  return async (params: ElicitRequest["params"]): Promise<ElicitResult> => {
    // Others may have caused the call: the person is not to be asked in their name.
    if (asker.others().length > 0) return { action: "cancel" };
    try {
      const asked = await elicit(store, { ...about, person: asker.person }, params);
      if (asked.unanswered) unanswered.push(asked.unanswered);
      return asked.result;
    } catch (error) {
      unanswered.push({ problem: "something that could not be kept until people answer" });
      throw error;
    }
  };
}

/** The server's own name for the tool of {@link createResourceTool}. */
export const resourceTool = "read_resource";

/** Reads what a server's results and instructions link to. */
export function createResourceTool(
  server: EnabledServer,
  connection: Connection,
  timeouts: McpTimeouts,
): Tool {
  return defineTool({
    name: toModelToolName(server.name, resourceTool),
    description: `Reads a resource of the MCP server ${server.name} by its URI, as its results name it.`,
    input: z.object({ uri: z.string().min(1).max(8_192) }),
    effect: server.trust ? "read" : "external",
    timeoutMs: findTimeLimit(timeouts),
    async run({ uri }, { signal }) {
      const outcome = await connection.call({ uri, signal, onProgress: () => {} }, true);
      return describeOutcome(outcome, server.name, timeouts);
    },
  });
}

/** Longer than a call and its one retry can take, so that our own limits apply first, in milliseconds. */
function findTimeLimit({ connectMs, executeMs }: McpTimeouts): number {
  return 2 * (connectMs + executeMs) + 5_000;
}

/** What a call's outcome says, for the model. */
export function describeOutcome(outcome: McpCallOutcome, server: string, timeouts: McpTimeouts): ToolResult {
  switch (outcome.kind) {
    case "answered":
      return toToolResult(outcome.result);
    case "refused":
      return { status: "error", text: `The MCP server ${server} refused the call: ${outcome.problem}` };
    case "stopped":
      return {
        status: "stopped",
        text: `The MCP server ${server} was told to cancel the call; it may have done part.`,
      };
    case "unavailable": {
      const text = `The MCP server ${server} is not available: ${outcome.problem}. The call has not run; go on without it or try again later.`;
      return { status: "error", outage: true, text };
    }
    case "signed-out": {
      const why =
        outcome.lacks === undefined
          ? `There is no account at the MCP server ${server} to make this call with, or it has ended.`
          : `The account at the MCP server ${server} may not do this: it lacks the permission ${outcome.lacks}.`;
      const text = `${why} The call has not run; ${nameConnectTool(server)} asks for an account that can make it, or says why there can be none.`;
      return { status: "error", text };
    }
    case "timed-out": {
      const text = `The MCP server ${server} did not answer within ${timeouts.executeMs / 1000} s and was told to cancel the call, which may have had effects; check before you repeat it.`;
      return { status: "error", outage: true, text };
    }
    case "unclear": {
      const text = `The MCP server ${server} did not answer the call as its protocol wants: ${outcome.problem}. Nobody knows whether the call had effects; check before you repeat it.`;
      return { status: "unknown", text };
    }
    case "lost": {
      const text = `The connection to the MCP server ${server} ended during the call: ${outcome.problem}. Nobody knows whether the call had effects; check before you repeat it.`;
      return { status: "unknown", outage: true, text };
    }
  }
}

function formatProgress({ progress, total, message }: Progress): string {
  return `${total === undefined ? progress : `${progress}/${total}`}${message ? ` ${message}` : ""}\n`;
}
