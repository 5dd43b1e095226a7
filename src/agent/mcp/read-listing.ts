import { type Tool as ProtocolTool, ToolSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { removeHidden } from "../hidden-characters.ts";
import { cutText, toWellFormed } from "../text.ts";
import { type Link, type ProtocolClient, withoutOwnTimeout } from "./link.ts";
import type { Listing, ServerTool } from "./listing.ts";
import { readParamHeaders } from "./param-headers.ts";

const maxPages = 100;
const maxDescription = 2_048;
const maxInstructions = 2_000;

/** A list is used for so long at least, whatever its server says: it is looked at before each step of each turn, ms. */
const leastFreshMs = 60_000;

/** Tools stay unparsed here, so that a faulty one does not cost the others. */
const pageSchema = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().optional(),
  // https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
  ttlMs: z.number().optional().catch(undefined),
});

/** What a server offers, and for how long that may be believed if it announces no change, in milliseconds. */
export interface FreshListing {
  listing: Listing;
  freshMs: number;
}

/** Asks a connected server for all that it offers. Throws what the request throws. */
export async function readListing(
  { client, mirrorsArguments }: Pick<Link, "client" | "mirrorsArguments">,
  signal: AbortSignal,
): Promise<FreshListing> {
  const capabilities = client.getServerCapabilities();
  const words = toWellFormed(removeHidden(client.getInstructions() ?? "").trim());
  const { freshMs, ...listed } = capabilities?.tools
    ? await listTools(client, { signal, hasHeaders: mirrorsArguments() })
    : { tools: [], leftOut: [], freshMs: Infinity };
  return {
    freshMs,
    listing: {
      ...listed,
      instructions: cutText(words, maxInstructions),
      hasResources: capabilities?.resources !== undefined,
    },
  };
}

/** Page by page. */
async function listTools(
  client: ProtocolClient,
  { signal, hasHeaders }: { signal: AbortSignal; hasHeaders: boolean },
): Promise<Pick<Listing, "tools" | "leftOut"> & Pick<FreshListing, "freshMs">> {
  const tools = new Map<string, ServerTool>();
  const leftOut: string[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  let freshMs = Infinity;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: "tools/list", params }, pageSchema, {
      signal,
      ...withoutOwnTimeout,
    });
    freshMs = Math.min(freshMs, Math.max(page.ttlMs ?? Infinity, leastFreshMs));
    for (const raw of page.tools) {
      const tool = toServerTool(toWellFormed(raw), hasHeaders);
      if (typeof tool === "string") leftOut.push(tool);
      else if (tools.has(tool.name)) leftOut.push(`${tool.name} is listed twice; the first one counts.`);
      else tools.set(tool.name, tool);
    }
    cursor = page.nextCursor;
    if (cursor !== undefined && (cursors.has(cursor) || cursors.size >= maxPages)) {
      leftOut.push(`The list does not end; it was cut after ${cursors.size + 1} pages.`);
      break;
    }
    if (cursor !== undefined) cursors.add(cursor);
  } while (cursor !== undefined);
  return { tools: [...tools.values()], leftOut, freshMs };
}

/** A sentence when the tool cannot be offered. */
function toServerTool(raw: unknown, hasHeaders: boolean): ServerTool | string {
  const parsed = ToolSchema.safeParse(raw);
  if (!parsed.success) {
    const named = z.looseObject({ name: z.string() }).safeParse(raw);
    return `${named.success ? named.data.name : "A tool without a name"} has no valid definition.`;
  }
  const tool = parsed.data;
  if (tool.execution?.taskSupport === "required") return `${tool.name} runs only as an MCP task.`;
  const paramHeaders = hasHeaders ? readParamHeaders(tool.inputSchema) : [];
  if ("problem" in paramHeaders) return `${tool.name} is left out: ${cutText(paramHeaders.problem, 300)}.`;
  const schema = toModelSchema(tool.inputSchema);
  // Anthropic refuses a whole request for one such key, so one tool would silence the agent.
  const odd = Object.keys(schema.properties).find((key) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(key));
  if (odd !== undefined)
    return `${tool.name} has a parameter name that model APIs refuse: ${JSON.stringify(odd)}.`;
  return {
    name: tool.name,
    description: cutText(tool.description ?? tool.title ?? "", maxDescription),
    schema,
    paramHeaders,
    claims: {
      readOnly: tool.annotations?.readOnlyHint === true,
      idempotent: tool.annotations?.idempotentHint === true || tool.annotations?.readOnlyHint === true,
    },
  };
}

/**
 * The server's schema without what model APIs refuse at the top level. Dropping a constraint there is
 * harmless: the server checks its input itself.
 */
function toModelSchema(
  schema: ProtocolTool["inputSchema"],
): Record<string, unknown> & { properties: object } {
  const { oneOf: _1, anyOf: _2, allOf: _3, not: _4, enum: _5, properties = {}, ...rest } = schema;
  return { ...rest, properties };
}
