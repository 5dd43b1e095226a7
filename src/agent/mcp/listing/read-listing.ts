import { type Tool as ProtocolTool, ToolSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { removeHidden } from "../../text/hidden-characters.ts";
import { cutText, toWellFormed } from "../../text/text.ts";
import { waitFor } from "../deadline.ts";
import { joinLines } from "../failure.ts";
import type { Link, ProtocolClient } from "../transport/link.ts";
import { listPages } from "./list-pages.ts";
import type { Listing, ServerTool } from "./listing.ts";
import { readParamHeaders } from "../transport/param-headers.ts";
import { listPrompts, type PromptListing } from "./read-prompts.ts";

const maxDescription = 2_048;
const maxInstructions = 2_000;

/** A list is used for so long at least, whatever its server says: it is looked at before each step of each turn, ms. */
export const leastFreshMs = 60_000;

/** So long tools wait for prompts, which few servers are slow to tell, ms. */
const promptGraceMs = 1_000;

/** What a server offers, and for how long that may be believed if it announces no change, in milliseconds. */
export interface FreshListing {
  listing: Listing;
  freshMs: number;
  /** Its prompts, where they come later than its tools. Never rejects. */
  late?: Promise<PromptListing>;
  /** It has not told its prompts: those that it had stay. */
  lacksPrompts?: true;
}

/**
 * Asks a connected server for all that it offers. Throws what the request throws.
 *
 * @param limits.promptMs how long its prompts may take, which its tools do not wait for; `life` ends that too
 */
export async function readListing(
  { client, mirrorsArguments }: Pick<Link, "client" | "mirrorsArguments">,
  signal: AbortSignal,
  limits: { promptMs: number; life: AbortSignal },
): Promise<FreshListing> {
  const capabilities = client.getServerCapabilities();
  const words = toWellFormed(removeHidden(client.getInstructions() ?? "").trim());
  const reading = capabilities?.prompts
    ? listPrompts(client, limits.promptMs, limits.life)
    : Promise.resolve(noPrompts);
  const [listed, soon] = await Promise.all([
    capabilities?.tools ? listTools(client, { signal, hasHeaders: mirrorsArguments() }) : noTools,
    Promise.race([
      reading,
      waitFor(
        reading.then(() => {}),
        promptGraceMs,
        signal,
      ),
    ]),
  ]);
  const prompted = soon ?? noPrompts;
  return {
    freshMs: prompted.hasFailed ? leastFreshMs : listed.freshMs,
    ...(!soon && { late: reading }),
    ...(prompted.hasFailed && { lacksPrompts: true }),
    listing: {
      tools: listed.tools,
      prompts: prompted.prompts,
      leftOut: [...listed.leftOut, ...prompted.leftOut],
      instructions: cutText(words, maxInstructions),
      hasResources: capabilities?.resources !== undefined,
    },
  };
}

type ListedTools = Pick<Listing, "tools" | "leftOut"> & Pick<FreshListing, "freshMs">;

const noTools: ListedTools = { tools: [], leftOut: [], freshMs: Infinity };
const noPrompts: PromptListing = { prompts: [], leftOut: [] };

async function listTools(
  client: ProtocolClient,
  { signal, hasHeaders }: { signal: AbortSignal; hasHeaders: boolean },
): Promise<ListedTools> {
  const tools = new Map<string, ServerTool>();
  const leftOut: string[] = [];
  const { entries, ttlMs, cut } = await listPages(client, "tools", signal);
  for (const raw of entries) {
    const tool = toServerTool(toWellFormed(raw), hasHeaders);
    if (typeof tool === "string") leftOut.push(tool);
    else if (tools.has(tool.name)) leftOut.push(`${tool.name} is listed twice; the first one counts.`);
    else tools.set(tool.name, tool);
  }
  if (cut !== undefined) leftOut.push(cut);
  // Names are the server's words, too.
  return {
    tools: [...tools.values()],
    leftOut: leftOut.map(joinLines),
    freshMs: Math.max(ttlMs, leastFreshMs),
  };
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
