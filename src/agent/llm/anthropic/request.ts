import type {
  ContentBlockParam,
  ImageBlockParam,
  MessageCreateParamsStreaming,
  RedactedThinkingBlockParam,
  TextBlockParam,
  ThinkingBlockParam,
  ThinkingConfigParam,
  ToolResultBlockParam,
  ToolUnion,
} from "@anthropic-ai/sdk/resources/messages";
import { z } from "zod";
import {
  type AssistantMessage,
  formatUserText,
  type Image,
  type Message,
  type ToolMessage,
  type UserMessage,
} from "../../messages.ts";
import { findOutputLimit, type ModelLimits, type ModelRequest, type ToolDefinition } from "../../model.ts";
import { toWellFormed } from "../../text/text.ts";
import { findEffort, type RequestSettings } from "../request-settings.ts";
import { isObject } from "../wire-calls.ts";
import {
  assertPaired,
  formatSummary,
  hashId,
  memoizeByPrefix,
  toResultText,
  toWireName,
} from "../wire-history.ts";

/** How a model wants to be asked. */
interface RequestStyle {
  model: string;
  /** `provider/model`; thinking of any other model is left out. */
  id: string;
  limits: ModelLimits;
  settings?: RequestSettings;
  adaptiveThinking: boolean;
  /** Whether the thinking of this message is left out as well. */
  forgets(message: AssistantMessage): boolean;
}

/**
 * Puts requests into the form of the wire. The parts that stay the same come first in it, so that each request of a
 * thread is the continuation of the one before.
 *
 * @returns a function that throws an Error when the history is not legal: a call without its result, or a result
 * without its call
 */
export function createRequestBuilder(
  style: RequestStyle,
): (request: ModelRequest) => MessageCreateParamsStreaming {
  const { limits, settings = {} } = style;
  const { temperature, serviceTier, cacheTtl } = settings;
  // All marks have the same lifetime: one of an hour may not come behind one of five minutes
  // (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
  const cached: CacheMark = { type: "ephemeral", ...(cacheTtl === "1h" && { ttl: cacheTtl }) };
  const converted = memoizeByPrefix(
    (): Converted => ({ turns: [], ids: new WireIds() }),
    (state, message) => convert(message, state, style),
  );
  return (request) => {
    assertPaired(request.messages);
    const turns = finishTurns(converted(request.messages).turns, cached);
    const outputLimit = findOutputLimit(request, limits);
    const thinking = configureThinking(style, outputLimit, turns);
    const effort = findEffort(request.effort, limits, settings);
    // What was checked is one of Anthropic's; see `findConflict`.
    const known = { output_config: { effort }, service_tier: serviceTier } as Pick<
      MessageCreateParamsStreaming,
      "output_config" | "service_tier"
    >;
    return {
      model: style.model,
      max_tokens: outputLimit,
      stream: true,
      ...(thinking && { thinking }),
      ...(effort !== undefined && { output_config: known.output_config }),
      ...(serviceTier !== undefined && { service_tier: known.service_tier }),
      // It is no longer in the SDK's types, as the newer models refuse it; the older ones take it.
      ...(temperature !== undefined && { temperature }),
      ...toolsOf(request, limits, cached),
      ...(request.system.trim() !== "" && {
        system: [{ ...toTextBlock(request.system), cache_control: cached }],
      }),
      messages: turns,
      ...settings.body,
    };
  };
}

function toolsOf(
  { tools, toolChoice, webSearches = 0 }: ModelRequest,
  { webSearch }: ModelLimits,
  cached: CacheMark,
): Pick<MessageCreateParamsStreaming, "tools" | "tool_choice"> {
  // https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
  const search: ToolUnion[] =
    webSearch && webSearches > 0
      ? [{ type: "web_search_20250305", name: "web_search", max_uses: webSearches }]
      : [];
  if (tools.length + search.length === 0) return {};
  return {
    tools: [...toWireTools(tools, cached), ...search],
    ...(toolChoice === "none" && { tool_choice: { type: "none" } }),
  };
}

function configureThinking(
  { adaptiveThinking, settings: { thinkingTokens } = {} }: RequestStyle,
  outputLimit: number,
  turns: readonly Turn[],
): ThinkingConfigParam | undefined {
  // The newer models say between tool calls what they do in their thinking, and only a summary of it is shown.
  if (adaptiveThinking) return { type: "adaptive", display: "summarized" };
  // "`max_tokens` must be greater than `thinking.budget_tokens`": a short reply is written without thinking.
  if (thinkingTokens === undefined || thinkingTokens >= outputLimit || !mayThink(turns)) return undefined;
  return { type: "enabled", budget_tokens: thinkingTokens };
}

/**
 * A reply that is made of several calls is one turn to the service: with a thinking budget it must begin with thinking,
 * and what another model has begun does not
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking, “Extended thinking with tool use”).
 */
function mayThink(turns: readonly Turn[]): boolean {
  const asked = turns.findLastIndex(
    ({ role, content }) => role === "user" && !content.some(({ type }) => type === "tool_result"),
  );
  const first = turns[asked + 1]?.content[0]?.type;
  return first === undefined || first === "thinking" || first === "redacted_thinking";
}

/** A cache breakpoint. The service takes four: the tools, the system prompt and the last two user turns. */
type CacheMark = { type: "ephemeral"; ttl?: "1h" };

function toWireTools(tools: readonly ToolDefinition[], cached: CacheMark): ToolUnion[] {
  return tools.map((tool, index) => ({
    name: tool.name,
    description: tool.description,
    input_schema: { ...tool.schema, type: "object" },
    ...(index === tools.length - 1 && { cache_control: cached }),
  }));
}

type UserBlock = TextBlockParam | ImageBlockParam | ToolResultBlockParam;
type Turn = { role: "user"; content: UserBlock[] } | { role: "assistant"; content: ContentBlockParam[] };

/** The messages as turns that alternate: neighbours of the same role are one turn. */
interface Converted {
  turns: Turn[];
  ids: WireIds;
}

function convert(message: Message, { turns, ids }: Converted, style: RequestStyle): void {
  switch (message.role) {
    case "user":
      addUser(turns, toUserBlocks(message, style.limits));
      break;
    case "summary":
      addUser(turns, [toTextBlock(formatSummary(message))]);
      break;
    case "assistant": {
      const content = toAssistantBlocks(message, style, ids);
      if (content.length > 0) turns.push(...ensureTrailingUserMessage(turns), { role: "assistant", content });
      break;
    }
    case "tool":
      addUser(turns, [toToolResult(message, ids.of(message.callId), style.limits)]);
      break;
  }
}

function addUser(turns: Turn[], blocks: UserBlock[]): void {
  const last = turns.at(-1);
  if (last?.role === "user") last.content.push(...blocks);
  else turns.push({ role: "user", content: blocks });
}

/** The models refuse a request that ends with their own words: behind each turn of theirs stands a word of ours. */
function ensureTrailingUserMessage(turns: readonly Turn[]): Turn[] {
  return turns.at(-1)?.role === "assistant" ? [{ role: "user", content: [toTextBlock("Continue.")] }] : [];
}

/** The turns of one request. What later requests continue stays as it is: the marks move. */
function finishTurns(turns: readonly Turn[], cached: CacheMark): Turn[] {
  const all = [...turns, ...ensureTrailingUserMessage(turns)];
  for (const at of [all.length - 1, all.length - 3]) {
    const turn = all[at];
    const last = turn?.role === "user" && turn.content.at(-1);
    if (last) {
      const content = [...turn.content.slice(0, -1), { ...last, cache_control: cached }];
      all[at] = { role: "user", content };
    }
  }
  return all;
}

function toUserBlocks(message: UserMessage, limits: ModelLimits): UserBlock[] {
  const text = formatUserText(message);
  return [
    toTextBlock(text.trim() === "" ? "(empty message)" : text),
    ...toImageBlocks(message.images, limits),
  ];
}

function toAssistantBlocks(
  message: AssistantMessage,
  style: RequestStyle,
  ids: WireIds,
): ContentBlockParam[] {
  const replaysThinking = message.model === style.id && !style.forgets(message);
  const blocks = message.parts.flatMap((part): ContentBlockParam[] => {
    switch (part.type) {
      case "thinking":
        return replaysThinking && part.protocol === "anthropic" && isThinkingBlock(part.raw)
          ? [toWellFormed(part.raw)]
          : [];
      case "text":
        return part.text.trim() === "" ? [] : [toTextBlock(part.text)];
      case "tool-call": {
        const { id, name, input } = part.call;
        return [
          {
            type: "tool_use",
            id: ids.add(id),
            name: toWireName(name),
            input: isObject(input) ? toWellFormed(input) : {},
          },
        ];
      }
    }
  });
  // "The final block in an assistant message cannot be `thinking`", and some replies are nothing else.
  while (blocks.at(-1)?.type === "thinking" || blocks.at(-1)?.type === "redacted_thinking") blocks.pop();
  return blocks;
}

function toToolResult(message: ToolMessage, id: string, limits: ModelLimits): ToolResultBlockParam {
  const failed = message.status === "error" || message.status === "stopped" || message.status === "unknown";
  // The service takes no images in a failed result.
  const content = [
    toTextBlock(toResultText(message.text)),
    ...(failed ? [] : toImageBlocks(message.images, limits)),
  ];
  return { type: "tool_result", tool_use_id: id, content, ...(failed && { is_error: true }) };
}

function toImageBlocks(
  images: readonly Image[] = [],
  limits: ModelLimits,
): (ImageBlockParam | TextBlockParam)[] {
  return images.map(({ mediaType, data }) =>
    limits.images
      ? { type: "image", source: { type: "base64", media_type: mediaType, data } }
      : toTextBlock("(an image was left out: this model cannot see images)"),
  );
}

function toTextBlock(text: string): TextBlockParam {
  return { type: "text", text: text.toWellFormed() };
}

const thinkingBlock = z.union([
  z.object({ type: z.literal("thinking"), thinking: z.string(), signature: z.string() }),
  z.object({ type: z.literal("redacted_thinking"), data: z.string() }),
]);

/** Only checks: the block must go back as it came. */
function isThinkingBlock(raw: unknown): raw is ThinkingBlockParam | RedactedThinkingBlockParam {
  return thinkingBlock.safeParse(raw).success;
}

/**
 * Ids of calls that the service accepts: those of other services may have other characters, and may come again in
 * a later step.
 */
class WireIds {
  readonly #current = new Map<string, string>();
  readonly #used = new Set<string>();

  /** The id of a call that is new in the history. */
  add(id: string): string {
    const legal = /^[a-zA-Z0-9_-]+$/.test(id) ? id : hashId(id);
    let wire = legal;
    for (let copy = 2; this.#used.has(wire); copy += 1) wire = `${legal}_${copy}`;
    this.#used.add(wire);
    this.#current.set(id, wire);
    return wire;
  }

  /** The same id for its result. */
  of(id: string): string {
    return this.#current.get(id) ?? id;
  }
}
