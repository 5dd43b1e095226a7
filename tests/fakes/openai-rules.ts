/** What OpenAI's two protocols refuse, with the words that the service uses for it. */
import { z } from "zod";
import { hasHalfPair } from "./wire.ts";

/** A refused request, as status and error object. */
export interface Refusal {
  status: number;
  type: string;
  message: string;
  code?: string | null;
  param?: string | null;
}

/**
 * Who is played. `openai` knows no reasoning fields and the new name of the output limit only; `compatible` is
 * the common server that knows the old name only; `minimax` is one that knows `reasoning_split`, too; `gemini` is one that wants
 * calls signed; `deepseek` is one that wants the reasoning with them; `devstral` is
 * llama.cpp with the template of that model.
 */
export type Dialect = "openai" | "compatible" | "minimax" | "gemini" | "deepseek" | "devstral";

export function invalid(message: string, param: string | null = null, code: string | null = null): Refusal {
  return { status: 400, type: "invalid_request_error", message, param, code };
}

const legalName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]+$/, "does not match '^[a-zA-Z0-9_-]+$'")
  .max(64);
const image = z
  .string()
  .regex(/^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$/, "is not an image URL");
const parameters = z.looseObject({ type: z.literal("object") });

const chatUserPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({ type: z.literal("image_url"), image_url: z.strictObject({ url: image }) }),
]);

const chatCall = z.strictObject({
  id: z.string().min(1).max(40, "string too long"),
  type: z.literal("function"),
  function: z.strictObject({ name: legalName, arguments: z.string() }),
  /** Gemini's. */
  extra_content: z.record(z.string(), z.unknown()).optional(),
});

const chatMessage = z.discriminatedUnion("role", [
  z.strictObject({ role: z.literal("system"), content: z.string().min(1) }),
  z.strictObject({ role: z.literal("user"), content: z.union([z.string(), z.array(chatUserPart).min(1)]) }),
  z.strictObject({
    role: z.literal("assistant"),
    content: z.string().min(1).nullish(),
    tool_calls: z.array(chatCall).min(1).optional(),
    reasoning_content: z.string().optional(),
    reasoning: z.string().optional(),
    reasoning_details: z
      .array(z.looseObject({ type: z.string() }))
      .min(1)
      .optional(),
  }),
  z.strictObject({ role: z.literal("tool"), tool_call_id: z.string(), content: z.string().min(1) }),
]);
type ChatMessage = z.infer<typeof chatMessage>;
export type ChatAssistant = Extract<ChatMessage, { role: "assistant" }>;

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const serviceTiers = ["auto", "default", "flex", "scale", "priority", "fast"];

export const chatBody = z.strictObject({
  model: z.string(),
  messages: z.array(chatMessage).min(1),
  stream: z.literal(true),
  stream_options: z.strictObject({ include_usage: z.boolean() }).optional(),
  max_tokens: z.int().positive().optional(),
  max_completion_tokens: z.int().positive().optional(),
  reasoning_split: z.boolean().optional(),
  prompt_cache_key: z.string().max(64).optional(),
  reasoning_effort: z.enum(efforts).optional(),
  temperature: z.number().min(0).max(2).optional(),
  service_tier: z.enum(serviceTiers).optional(),
  /** vLLM's and others'. */
  top_k: z.int().optional(),
  tools: z
    .array(
      z.strictObject({
        type: z.literal("function"),
        function: z.strictObject({ name: legalName, description: z.string(), parameters }),
      }),
    )
    .min(1)
    .optional(),
  tool_choice: z.enum(["auto", "none"]).optional(),
});
export type ChatBody = z.infer<typeof chatBody>;

const inputPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("input_text"), text: z.string() }),
  z.strictObject({
    type: z.literal("input_image"),
    detail: z.enum(["auto", "low", "high"]),
    image_url: image,
  }),
]);
const input = z.union([z.string(), z.array(inputPart).min(1)]);

const outputPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("output_text"), text: z.string(), annotations: z.array(z.unknown()) }),
  z.strictObject({ type: z.literal("refusal"), refusal: z.string() }),
]);
const status = z.enum(["in_progress", "completed", "incomplete"]).optional();

const inputItem = z.union([
  z.discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("message"),
      role: z.literal("assistant"),
      id: z.string().startsWith("msg_"),
      content: z.array(outputPart).min(1),
      phase: z.enum(["commentary", "final_answer"]).optional(),
      status,
    }),
    z.strictObject({
      type: z.literal("function_call"),
      id: z.string().startsWith("fc_").optional(),
      call_id: z.string().min(1).max(64, "string too long"),
      name: legalName,
      arguments: z.string(),
      status,
    }),
    z.looseObject({
      type: z.literal("web_search_call"),
      id: z.string().startsWith("ws_"),
      action: z.looseObject({ type: z.enum(["search", "open_page", "find_in_page"]) }),
      status,
    }),
    z.strictObject({ type: z.literal("function_call_output"), call_id: z.string(), output: input }),
    z.strictObject({
      type: z.literal("reasoning"),
      id: z.string().startsWith("rs_"),
      summary: z.array(z.strictObject({ type: z.literal("summary_text"), text: z.string() })),
      encrypted_content: z.string(),
      status,
    }),
  ]),
  z.strictObject({ role: z.literal("user"), content: input }),
  z.strictObject({ role: z.literal("assistant"), content: z.string().min(1) }),
]);
export type InputItem = z.infer<typeof inputItem>;

export const responsesBody = z.strictObject({
  model: z.string(),
  input: z.array(inputItem).min(1),
  instructions: z.string().min(1).optional(),
  stream: z.literal(true),
  store: z.boolean().optional(),
  include: z.array(z.enum(["reasoning.encrypted_content", "web_search_call.action.sources"])).optional(),
  max_tool_calls: z.int().positive().optional(),
  prompt_cache_key: z.string().max(64).optional(),
  // https://platform.openai.com/docs/api-reference/responses/create: 16 pairs at most.
  metadata: z.record(z.string().max(64), z.string().max(512)).optional(),
  reasoning: z.strictObject({ effort: z.enum(efforts) }).optional(),
  temperature: z.number().min(0).max(2).optional(),
  service_tier: z.enum(serviceTiers).optional(),
  max_output_tokens: z.int().min(16).optional(),
  tools: z
    .array(
      z.discriminatedUnion("type", [
        z.strictObject({
          type: z.literal("function"),
          name: legalName,
          description: z.string(),
          parameters,
          strict: z.boolean().nullable(),
        }),
        // https://developers.openai.com/api/docs/guides/tools-web-search
        z.strictObject({
          type: z.enum(["web_search", "web_search_2025_08_26"]),
          search_context_size: z.enum(["low", "medium", "high"]).optional(),
          external_web_access: z.boolean().optional(),
        }),
      ]),
    )
    .min(1)
    .optional(),
  tool_choice: z.enum(["auto", "none"]).optional(),
});
export type ResponsesBody = z.infer<typeof responsesBody>;

/** A body in the schema's form, or the refusal that the first fault in it gets. */
export function parseBody<T>(
  schema: z.ZodType<T>,
  body: unknown,
): { ok: true; body: T } | { ok: false; refusal: Refusal } {
  if (body === undefined || hasHalfPair(body)) {
    return { ok: false, refusal: invalid("We could not parse the JSON body of your request.") };
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return { ok: true, body: parsed.data };
  const [issue] = parsed.error.issues;
  const param = z.core.toDotPath(issue?.path ?? []);
  const refusal =
    issue?.code === "unrecognized_keys"
      ? invalid(
          `Unknown parameter: '${[param, issue.keys[0]].filter(Boolean).join(".")}'.`,
          param,
          "unknown_parameter",
        )
      : invalid(`Invalid '${param}': ${issue?.message}.`, param, "invalid_value");
  return { ok: false, refusal };
}

/** What is wrong with a request for a chat completion, beyond its form. */
export function chatRefusal(body: ChatBody, dialect: Dialect): Refusal | undefined {
  return (
    wrongLimit(body, dialect) ??
    wrongSampling(body.model, body.temperature, body.reasoning_effort, dialect) ??
    foreignFields(body, dialect) ??
    missingSignature(body, dialect) ??
    missingReasoning(body, dialect) ??
    wrongOrder(body, dialect) ??
    wrongTools(
      body.tools?.map((tool) => tool.function.name),
      body.tool_choice,
    ) ??
    wrongTurns(body.messages)
  );
}

/** Gemini wants one with the first call of each step: https://ai.google.dev/gemini-api/docs/thought-signatures */
function missingSignature({ messages }: ChatBody, dialect: Dialect): Refusal | undefined {
  const isUnsigned = messages.some(
    (message) =>
      message.role === "assistant" && message.tool_calls?.[0] && !message.tool_calls[0].extra_content,
  );
  return dialect === "gemini" && isUnsigned
    ? invalid("Function call is missing a thought_signature in functionCall parts.")
    : undefined;
}

/** DeepSeek wants it with each call while the model thinks: https://api-docs.deepseek.com/guides/thinking_mode#tool-calls */
function missingReasoning({ messages }: ChatBody, dialect: Dialect): Refusal | undefined {
  const isMissing = messages.some(
    (message) => message.role === "assistant" && message.tool_calls && !message.reasoning_content,
  );
  return dialect === "deepseek" && isMissing
    ? invalid("The `reasoning_content` in the thinking mode must be passed back to the API.")
    : undefined;
}

/** As the template has it: https://github.com/mistralai/mistral-vibe/issues/255 */
function wrongOrder({ messages }: ChatBody, dialect: Dialect): Refusal | undefined {
  const counted = messages.filter(
    (message) => message.role === "user" || (message.role === "assistant" && !message.tool_calls),
  );
  if (dialect !== "devstral" || counted.every(({ role }, at) => (role === "user") === (at % 2 === 0)))
    return undefined;
  const message =
    "After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.";
  return { status: 500, type: "server_error", message };
}

function wrongLimit(body: ChatBody, dialect: Dialect): Refusal | undefined {
  if (dialect === "openai" && body.max_tokens !== undefined) {
    return invalid(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      "max_tokens",
      "unsupported_parameter",
    );
  }
  return dialect !== "openai" && body.max_completion_tokens !== undefined
    ? invalid("Unrecognized request argument supplied: max_completion_tokens")
    : undefined;
}

/** As OpenAI's models do that reason, which are nearly all. */
function wrongSampling(
  model: string,
  temperature: number | undefined,
  effort: string | undefined,
  dialect: Dialect,
): Refusal | undefined {
  if (dialect !== "openai") return undefined;
  const reasons = !model.startsWith("gpt-4");
  const param = reasons ? "temperature" : "reasoning_effort";
  const isRefused = reasons ? temperature !== undefined && effort !== "none" : effort !== undefined;
  return isRefused
    ? invalid(
        `Unsupported parameter: '${param}' is not supported with this model.`,
        param,
        "unsupported_parameter",
      )
    : undefined;
}

function foreignFields(body: ChatBody, dialect: Dialect): Refusal | undefined {
  if (dialect !== "openai" && body.prompt_cache_key !== undefined) {
    return invalid("Unrecognized request argument supplied: prompt_cache_key");
  }
  if (dialect === "openai" && body.top_k !== undefined) {
    return invalid("Unknown parameter: 'top_k'.", "top_k", "unknown_parameter");
  }
  if (dialect !== "minimax" && body.reasoning_split !== undefined) {
    return invalid("Unrecognized request argument supplied: reasoning_split");
  }
  const index = body.messages.findIndex(
    (message) =>
      message.role === "assistant" &&
      (message.reasoning_content ?? message.reasoning ?? message.reasoning_details) !== undefined,
  );
  return dialect === "openai" && index >= 0
    ? invalid(`Unknown parameter: 'messages[${index}].reasoning'.`, `messages[${index}]`, "unknown_parameter")
    : undefined;
}

const mostTools = 128;

function wrongTools(names: readonly string[] | undefined, choice: string | undefined): Refusal | undefined {
  if (!names) {
    return choice === undefined
      ? undefined
      : invalid(
          "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
          "tool_choice",
        );
  }
  if (names.length > mostTools) {
    return invalid(
      `Invalid 'tools': array too long. Expected an array with maximum length ${mostTools}, but got an array with length ${names.length} instead.`,
      "tools",
      "array_above_max_length",
    );
  }
  return new Set(names).size < names.length ? invalid("Tool names must be unique.", "tools") : undefined;
}

function wrongTurns(messages: readonly ChatMessage[]): Refusal | undefined {
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      if (!open.delete(message.tool_call_id)) {
        return invalid(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          `messages.[${index}].role`,
        );
      }
      continue;
    }
    if (open.size > 0) return unanswered(open, index);
    if (message.role !== "assistant") continue;
    const calls = message.tool_calls ?? [];
    if (calls.length === 0 && !message.content) {
      return invalid(
        "Invalid value for 'content': expected a string, got null.",
        `messages.[${index}].content`,
      );
    }
    const broken = calls.findIndex((call) => !isObject(call.function.arguments));
    if (broken >= 0) {
      return invalid(
        `Invalid 'messages[${index}].tool_calls[${broken}].function.arguments': not a JSON object.`,
        `messages[${index}].tool_calls[${broken}].function.arguments`,
      );
    }
    open = new Set(calls.map(({ id }) => id));
    if (open.size < calls.length)
      return invalid("Duplicate value for 'tool_call_id'.", `messages.[${index}].tool_calls`);
  }
  return open.size > 0 ? unanswered(open, messages.length) : undefined;
}

function unanswered(open: ReadonlySet<string>, index: number): Refusal {
  return invalid(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
    `messages.[${index}].role`,
  );
}

/** What is wrong with a request for a response, beyond its form. */
export function responsesRefusal(body: ResponsesBody): Refusal | undefined {
  if (body.include?.includes("reasoning.encrypted_content") && body.model.startsWith("gpt-4")) {
    return invalid("Encrypted content is not supported with this model.", "include");
  }
  const tools = wrongTools(
    body.tools?.flatMap((tool) => ("name" in tool ? tool.name : [])),
    body.tool_choice,
  );
  if (tools) return tools;

  const open = new Set<string>();
  for (const [index, item] of body.input.entries()) {
    if (!("type" in item)) continue;
    if (item.type === "function_call") {
      if (open.has(item.call_id))
        return invalid(`Duplicate item found with call_id ${item.call_id}.`, "input");
      if (!isObject(item.arguments)) {
        return invalid(
          `Invalid 'input[${index}].arguments': not a JSON object.`,
          `input[${index}].arguments`,
        );
      }
      open.add(item.call_id);
    } else if (item.type === "function_call_output" && !open.delete(item.call_id)) {
      return invalid(`No tool call found for function call output with call_id ${item.call_id}.`, "input");
    } else if (item.type === "reasoning") {
      const next = body.input[index + 1];
      const follows = next && "type" in next && next.type !== "function_call_output";
      if (!follows) {
        return invalid(
          `Item '${item.id}' of type 'reasoning' was provided without its required following item.`,
          "input",
        );
      }
    }
  }
  const [callId] = open;
  return callId === undefined
    ? undefined
    : invalid(`No tool output found for function call ${callId}.`, "input");
}

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
