import { parseJson } from "../../text/text.ts";
import { memoizeByPrefix } from "../../llm/wire-history.ts";
import type { AssistantMessage, Message, ToolCall } from "../../messages.ts";
import { callToolName } from "../../tools/dispatch/deferred-tools.ts";
import type { Dispatcher } from "../../tools/dispatch/dispatch.ts";

/**
 * The model calls a deferred tool with `call_tool`; everybody else (policy, journal, progress, people) sees the call of
 * the tool itself. It is turned into that when the reply comes, and back when the conversation is sent again.
 */

/** @param deferred the names of the tools that were not sent */
export function unwrapDeferredCalls(
  reply: AssistantMessage,
  deferred: ReadonlySet<string>,
): AssistantMessage {
  if (deferred.size === 0) return reply;
  const parts = reply.parts.map((part) =>
    part.type === "tool-call" ? { ...part, call: unwrap(part.call, deferred) } : part,
  );
  return { ...reply, parts };
}

/** What is wrong with the call is for `call_tool` to say. */
function unwrap(call: ToolCall, deferred: ReadonlySet<string>): ToolCall {
  const { name, input } = call;
  if (name !== callToolName || typeof input !== "object" || input === null || !("name" in input)) return call;
  const inner = input.name;
  if (typeof inner !== "string" || !deferred.has(inner)) return call;
  const given = "arguments" in input ? parse(input.arguments) : {};
  return typeof given === "object" && given !== null ? { ...call, name: inner, input: given } : call;
}

/** Some models write JSON into a string. */
function parse(given: unknown): unknown {
  return typeof given === "string" ? parseJson(given) : given;
}

type Wrap = (messages: readonly Message[]) => readonly Message[];
type WasFound = NonNullable<Dispatcher["wasFound"]>;

/** The tools of a turn, and with them this function, stay the same from step to step. */
const wraps = new WeakMap<WasFound, Wrap>();

/**
 * The conversation as the model has seen it, whoever has asked since. The same array for the same array, longer where
 * that is.
 */
export function wrapDeferredCalls(
  messages: readonly Message[],
  wasFound: WasFound | undefined,
): readonly Message[] {
  if (!wasFound) return messages;
  const known = wraps.get(wasFound) ?? createWrap(wasFound);
  wraps.set(wasFound, known);
  return known(messages);
}

function createWrap(wasFound: WasFound): Wrap {
  return memoizeByPrefix<Message[]>(
    () => [],
    (list, message) => void list.push(wrap(message, wasFound)),
  );
}

function wrap(message: Message, wasFound: WasFound): Message {
  if (message.role === "tool") return wasFound(message.name) ? { ...message, name: callToolName } : message;
  if (message.role !== "assistant") return message;
  const isDeferred = message.parts.some((part) => part.type === "tool-call" && wasFound(part.call.name));
  if (!isDeferred) return message;
  const parts = message.parts.map((part) => {
    if (part.type !== "tool-call" || !wasFound(part.call.name)) return part;
    const { name, input } = part.call;
    return { ...part, call: { ...part.call, name: callToolName, input: { name, arguments: input } } };
  });
  return { ...message, parts };
}
