/** What the Anthropic service refuses, with the words that it uses for it. */
import { z } from "zod";
import { hasHalfPair } from "./wire.ts";

/** A refused request, as status and error object. */
export interface Refusal {
  status: number;
  type: string;
  message: string;
}

/** What the fake knows about a model. */
export interface FakeModel {
  contextTokens: number;
  maxOutputTokens: number;
  adaptiveThinking: boolean;
}

const cacheControl = z.strictObject({ type: z.literal("ephemeral"), ttl: z.enum(["5m", "1h"]).optional() });

const text = z.strictObject({
  type: z.literal("text"),
  text: z
    .string()
    .refine((value) => value.trim() !== "", "text content blocks must contain non-whitespace text"),
  cache_control: cacheControl.optional(),
});

const image = z.strictObject({
  type: z.literal("image"),
  source: z.strictObject({
    type: z.literal("base64"),
    media_type: z.enum(["image/png", "image/jpeg", "image/gif", "image/webp"]),
    data: z
      .base64()
      .min(1)
      .max(7_000_000, "image exceeds 5 MB maximum")
      .refine(
        (data) => Math.max(...pngSize(data)) <= 8_000,
        "At least one of the image dimensions exceed max allowed size: 8000 pixels",
      ),
  }),
  cache_control: cacheControl.optional(),
});

/** Width and height; zeros for what is no PNG. */
function pngSize(data: string): [number, number] {
  const head = Buffer.from(data.slice(0, 32), "base64");
  return head.toString("latin1", 1, 4) === "PNG" && head.length === 24
    ? [head.readUInt32BE(16), head.readUInt32BE(20)]
    : [0, 0];
}

const toolResult = z.strictObject({
  type: z.literal("tool_result"),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(z.discriminatedUnion("type", [text, image]))]).optional(),
  is_error: z.boolean().optional(),
  cache_control: cacheControl.optional(),
});

const toolUse = z.strictObject({
  type: z.literal("tool_use"),
  id: z.string().regex(/^[a-zA-Z0-9_-]+$/),
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/),
  input: z.record(z.string(), z.unknown()),
});

const thinking = z.strictObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  signature: z.string().min(1, "Field required"),
});

const redacted = z.strictObject({ type: z.literal("redacted_thinking"), data: z.string().min(1) });

const block = z.discriminatedUnion("type", [text, image, toolResult, toolUse, thinking, redacted]);

const wireMessage = z.strictObject({
  role: z.enum(["user", "assistant"]),
  content: z.union([z.string().min(1), z.array(block).min(1)]),
});

const tool = z.strictObject({
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/),
  description: z.string().optional(),
  input_schema: z.looseObject({ type: z.literal("object") }),
  cache_control: cacheControl.optional(),
});

/** https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool */
const webSearchTool = z.strictObject({
  type: z.literal("web_search_20250305"),
  name: z.literal("web_search"),
  max_uses: z.int().positive().optional(),
  allowed_domains: z.array(z.string()).optional(),
  blocked_domains: z.array(z.string()).optional(),
});

const messagesBody = z.strictObject({
  model: z.string(),
  max_tokens: z.int().positive(),
  messages: z.array(wireMessage).min(1),
  stream: z.boolean().optional(),
  system: z.union([z.string(), z.array(text)]).optional(),
  tools: z.array(z.union([webSearchTool, tool])).optional(),
  tool_choice: z.strictObject({ type: z.enum(["auto", "none", "any"]) }).optional(),
  thinking: z
    .discriminatedUnion("type", [
      z.strictObject({ type: z.literal("adaptive"), display: z.enum(["summarized", "omitted"]).optional() }),
      z.strictObject({ type: z.literal("enabled"), budget_tokens: z.int().min(1024) }),
    ])
    .optional(),
  temperature: z.number().min(0).max(1).optional(),
  top_k: z.int().optional(),
  service_tier: z.enum(["auto", "standard_only"]).optional(),
  output_config: z.strictObject({ effort: z.enum(["low", "medium", "high", "xhigh", "max"]) }).optional(),
});

export type MessagesBody = z.infer<typeof messagesBody>;
export type Block = z.infer<typeof block>;
export interface Turn {
  role: "user" | "assistant";
  content: Block[];
}

/** The body of a request, or why its shape is refused. */
export function parseBody(body: unknown): { ok: true; body: MessagesBody } | { ok: false; refusal: Refusal } {
  if (hasHalfPair(body))
    return { ok: false, refusal: invalid("The request body is not valid JSON: no low surrogate in string") };
  const parsed = messagesBody.safeParse(body);
  if (parsed.success) return { ok: true, body: parsed.data };
  const [issue] = parsed.error.issues;
  const where = issue?.code === "unrecognized_keys" ? [...issue.path, issue.keys[0]] : issue?.path;
  const what = issue?.code === "unrecognized_keys" ? "Extra inputs are not permitted" : issue?.message;
  // The service names the kind of the block, too.
  const place = where?.join(".").replace(/\.source\.data$/, ".image.source.base64.data");
  return { ok: false, refusal: invalid(`${place}: ${what}`) };
}

/** Why a well-formed request is refused, if it is. */
export function refusalOf(body: MessagesBody, model: FakeModel | undefined): Refusal | undefined {
  if (!model) return { status: 404, type: "not_found_error", message: `model: ${body.model}` };
  if (body.max_tokens > model.maxOutputTokens) {
    return invalid(
      `max_tokens: ${body.max_tokens} > ${model.maxOutputTokens}, which is the maximum allowed number of output tokens for ${body.model}`,
    );
  }
  if (body.thinking?.type === "adaptive" && !model.adaptiveThinking) {
    return invalid("adaptive thinking is not supported on this model");
  }
  if (body.thinking?.type === "enabled" && model.adaptiveThinking) {
    return invalid('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".');
  }
  const settings = settingsRefusal(body, model);
  if (settings) return settings;
  const tokens = Math.ceil(JSON.stringify([body.system, body.tools, body.messages]).length / 4);
  if (tokens > model.contextTokens)
    return invalid(`prompt is too long: ${tokens} tokens > ${model.contextTokens} maximum`);
  return toolsRefusal(body) ?? conversationRefusal(turnsOf(body)) ?? cacheRefusal(body);
}

/** The conversation as the service sees it: text as a block, neighbours of the same role as one turn. */
export function turnsOf(body: MessagesBody): Turn[] {
  const turns: Turn[] = [];
  for (const { role, content } of body.messages) {
    const blocks: Block[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else turns.push({ role, content: [...blocks] });
  }
  return turns;
}

export function invalid(message: string): Refusal {
  return { status: 400, type: "invalid_request_error", message };
}

function settingsRefusal(body: MessagesBody, model: FakeModel): Refusal | undefined {
  if (body.temperature !== undefined && model.adaptiveThinking) {
    return invalid("`temperature` is deprecated for this model.");
  }
  if (body.temperature !== undefined && body.temperature !== 1 && body.thinking) {
    return invalid("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.");
  }
  if (body.output_config && !model.adaptiveThinking) {
    return invalid("This model does not support the effort parameter.");
  }
  if (body.thinking?.type !== "enabled") return undefined;
  if (body.thinking.budget_tokens >= body.max_tokens) {
    return invalid("`max_tokens` must be greater than `thinking.budget_tokens`.");
  }
  const turns = turnsOf(body);
  const asked = turns.findLastIndex(
    ({ role, content }) => role === "user" && !content.some(({ type }) => type === "tool_result"),
  );
  const first = turns[asked + 1]?.content[0]?.type;
  return first === undefined || first.endsWith("thinking")
    ? undefined
    : invalid(
        `messages.${asked + 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`,
      );
}

function toolsRefusal(body: MessagesBody): Refusal | undefined {
  const names = (body.tools ?? []).map(({ name }) => name);
  if (new Set(names).size < names.length) return invalid("tools: Tool names must be unique.");
  const wrong = (body.tools ?? []).findIndex(
    (each) => "input_schema" in each && !isSchema(each.input_schema),
  );
  if (wrong >= 0)
    return invalid(
      `tools.${wrong}.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).`,
    );
  if (!body.tool_choice) return undefined;
  if (names.length === 0) return invalid("tool_choice: may only be specified while providing tools");
  if (body.tool_choice.type === "any")
    return invalid("tool_choice: forced tool use is not supported on this model");
  return undefined;
}

/** As far as the types of properties go. */
function isSchema({ properties = {} }: Record<string, unknown>): boolean {
  const types = new Set(["null", "boolean", "object", "array", "number", "string", "integer"]);
  return Object.values(properties as Record<string, { type?: unknown }>).every(
    ({ type }) => typeof type !== "string" || types.has(type),
  );
}

function conversationRefusal(turns: readonly Turn[]): Refusal | undefined {
  if (turns[0]?.role !== "user") return invalid('messages: first message must use the "user" role');
  if (turns.at(-1)?.role !== "user") {
    return invalid(
      "This model does not support assistant message prefill. The conversation must end with a user message.",
    );
  }
  const used = new Set<string>();
  for (const [index, turn] of turns.entries()) {
    const results = turn.content.flatMap((part) => (part.type === "tool_result" ? [part] : []));
    const calls = callIds(turns[index - 1]);
    if (turn.role === "assistant") {
      const wrong = turn.content.find(({ type }) => type === "tool_result" || type === "image");
      if (wrong)
        return invalid(`messages.${index}: \`${wrong.type}\` blocks can only be in \`user\` messages`);
      if (turn.content.at(-1)?.type.endsWith("thinking")) {
        return invalid(`messages.${index}: The final block in an assistant message cannot be \`thinking\`.`);
      }
      for (const id of callIds(turn)) {
        if (used.has(id)) return invalid(`messages.${index}: \`tool_use\` ids must be unique`);
        used.add(id);
      }
      continue;
    }
    const wrong = turn.content.find(({ type }) => type === "tool_use" || type.includes("thinking"));
    if (wrong)
      return invalid(`messages.${index}: \`${wrong.type}\` blocks can only be in \`assistant\` messages`);
    const answered = results.map((result) => result.tool_use_id);
    const stray = answered.find((id) => !calls.includes(id));
    if (stray !== undefined) {
      return invalid(
        `messages.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    }
    if (new Set(answered).size < answered.length) {
      return invalid(`messages.${index}: each tool_use must have a single result.`);
    }
    const first = turn.content.slice(0, calls.length);
    if (answered.length < calls.length || first.some(({ type }) => type !== "tool_result")) {
      return invalid(
        `messages.${index - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${calls.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
    }
    const picture = results.find(
      ({ is_error, content }) =>
        is_error && typeof content === "object" && content.some(({ type }) => type === "image"),
    );
    if (picture)
      return invalid(`messages.${index}: all content must be type \`text\` if \`is_error\` is true`);
  }
  return undefined;
}

function callIds(turn: Turn | undefined): string[] {
  return turn?.content.flatMap((part) => (part.type === "tool_use" ? [part.id] : [])) ?? [];
}

function cacheRefusal(body: MessagesBody): Refusal | undefined {
  const marks = JSON.stringify(body).split('"cache_control":{').length - 1;
  if (marks <= 4) return undefined;
  return invalid(`A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`);
}
