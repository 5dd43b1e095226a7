import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { AssistantMessage, AssistantPart, StopReason } from "../../messages.ts";
import type { ModelEvent } from "../../model.ts";
import type { CallTokens } from "../cost.ts";
import { heartbeat, ping } from "../retry.ts";
import { readCall, type WireCall } from "../wire-calls.ts";
import { Reasoning, reasoningFields } from "./reasoning.ts";
import { baseResp } from "./service.ts";
import { ThinkSplitter } from "./think-tags.ts";

const count = z.number().nullish();

const usage = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  completion_tokens_details: z.object({ reasoning_tokens: count }).nullish().catch(undefined),
  prompt_tokens_details: z.object({ cached_tokens: count, cache_write_tokens: count }).nullish(),
});

/**
 * What was written, reasoning included. OpenAI counts that in `completion_tokens`; xAI, and Gemini at its own address, count
 * it in `total_tokens` alone. https://docs.x.ai/docs/guides/reasoning
 */
function countOutput(told: z.infer<typeof usage> | undefined): number {
  const written = told?.completion_tokens ?? 0;
  const beside = (told?.total_tokens ?? 0) - (told?.prompt_tokens ?? 0) - written;
  const reasoning = told?.completion_tokens_details?.reasoning_tokens ?? beside;
  return written + Math.max(0, Math.min(beside, reasoning));
}

const callDelta = z.object({
  index: z.number().nullish(),
  id: z.string().nullish(),
  function: z.object({ name: z.string().nullish(), arguments: z.unknown().optional() }).nullish(),
  /**
   * Gemini's, with the `thought_signature` that it wants back with the call, else it refuses the request:
   * https://ai.google.dev/gemini-api/docs/thought-signatures
   */
  extra_content: z.record(z.string(), z.unknown()).nullish().catch(undefined),
});
type CallDelta = z.infer<typeof callDelta>;

const chatDelta = reasoningFields.extend({
  content: z.string().nullish(),
  refusal: z.string().nullish(),
  tool_calls: z.array(callDelta).nullish(),
});
type ChatDelta = z.infer<typeof chatDelta>;

const choice = z.object({
  delta: chatDelta.nullish(),
  finish_reason: z.string().nullish(),
});

/** Whether it brings nothing of the answer: some servers keep a stream alive so. */
function saysNothing({ delta, finish_reason }: z.infer<typeof choice> = {}): boolean {
  return !finish_reason && !Object.values(delta ?? {}).some((value) => value?.length);
}

/** A chunk of a streamed completion: what OpenAI sends, and what compatible servers leave out or add. */
export const chatChunk = z.object({
  choices: z.array(choice).nullish(),
  usage: usage.nullish(),
  base_resp: baseResp.nullish(),
});
type ChatChunk = z.infer<typeof chatChunk>;

/** What {@link ThinkingPart.raw} holds: the fields as received, and a `<think>` block that began the content. */
export const chatThinking = reasoningFields.extend({ think: z.string().optional() });

interface ChatCall extends WireCall {
  index: number | undefined;
  extra?: Record<string, unknown>;
}

/**
 * Puts a streamed completion together, chunk by chunk. The SDK's own accumulator is of no use here: it keeps
 * only the last piece of fields that OpenAI does not have.
 */
export class ChatReply {
  readonly #reasoning: Reasoning;
  readonly #callsAllowed: boolean;
  readonly #content = new ThinkSplitter();
  readonly #calls: ChatCall[] = [];
  #thinking = "";
  #text = "";
  #refused = false;
  #finish = "";
  #usage: z.infer<typeof usage> | undefined;
  #ended = false;
  #hasBegun = false;

  /** `snapshots`: see {@link Reasoning}. Without `calls` those of the model are left out; some ignore `tool_choice`. */
  constructor(options: { snapshots: boolean; calls: boolean }) {
    this.#reasoning = new Reasoning(options.snapshots);
    this.#callsAllowed = options.calls;
  }

  /** Whether the service said that its answer is complete. */
  get finished(): boolean {
    return this.#finish !== "";
  }

  /** Whether it said the last that the protocol has: the usage, which comes by itself after the answer. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Takes a chunk and yields what is new in it, or at least a heartbeat: a ping where it brings nothing. */
  *push(chunk: ChatChunk): Generator<ModelEvent> {
    this.#usage = chunk.usage ?? this.#usage;
    const first = chunk.choices?.[0];
    if (first && !this.#hasBegun) yield { type: "begun" };
    this.#hasBegun ||= Boolean(first);
    this.#finish = first?.finish_reason || this.#finish;
    this.#ended ||= this.finished && !first && Boolean(chunk.usage);
    yield* this.#pushDelta(first?.delta ?? {}, saysNothing(first) ? ping : heartbeat);
  }

  /** @param sign what is yielded where there is nothing to show */
  *#pushDelta(delta: ChatDelta, sign: ModelEvent): Generator<ModelEvent> {
    const reasoning = this.#reasoning.push(delta);
    const content = this.#content.push(delta.content ?? "");
    if (delta.refusal) this.#refused = true;
    for (const call of delta.tool_calls ?? []) this.#pushCall(call);
    yield* this.#show(reasoning + content.thinking, content.text + (delta.refusal ?? ""), sign);
  }

  /** Yields what was held back until now. */
  *end(): Generator<ModelEvent> {
    const { thinking, text } = this.#content.end();
    yield* this.#show(thinking, text);
  }

  /** The reply as a message of `model`. */
  message(model: string): AssistantMessage {
    const parts: AssistantPart[] = [];
    const fields = this.#reasoning.fields();
    const think = this.#content.prefix;
    const raw: z.infer<typeof chatThinking> = { ...fields, ...(think !== "" && { think }) };
    const calls = this.#callsThatCount().map((wire) => ({
      type: "tool-call" as const,
      call: readCall(wire),
      ...(wire.extra && { extra: wire.extra }),
    }));
    const text = this.#text.trim() === "" ? "" : this.#text;
    // Reasoning without words matters beside something else only; alone it makes an empty reply.
    const said = this.#thinking !== "" || text !== "" || calls.length > 0;
    if (said && (fields || think !== "")) {
      parts.push({ type: "thinking", text: this.#thinking, protocol: "openai-chat", raw });
    }
    if (text !== "") parts.push({ type: "text", text });
    parts.push(...calls);
    return { role: "assistant", id: randomUUID(), parts, model, stop: this.#stop() };
  }

  /** Zeros where the service reports no usage. */
  tokens(): CallTokens {
    const details = this.#usage?.prompt_tokens_details;
    const cacheRead = details?.cached_tokens ?? 0;
    const cacheWrite = details?.cache_write_tokens ?? 0;
    const input = Math.max(0, (this.#usage?.prompt_tokens ?? 0) - cacheRead - cacheWrite);
    return { input, output: countOutput(this.#usage), cacheRead, cacheWrite };
  }

  *#show(thinking: string, text: string, sign = heartbeat): Generator<ModelEvent> {
    this.#thinking += thinking;
    this.#text += text;
    if (thinking !== "") yield { type: "thinking", delta: thinking };
    yield text === "" ? sign : { type: "text", delta: text };
  }

  #pushCall(delta: CallDelta): void {
    const call: ChatCall = this.#findContinued(delta) ?? {
      index: delta.index ?? undefined,
      id: undefined,
      name: "",
      arguments: "",
    };
    if (!this.#calls.includes(call)) this.#calls.push(call);
    call.id ||= delta.id ?? undefined;
    call.name ||= delta.function?.name ?? "";
    if (delta.extra_content) call.extra = { ...call.extra, ...delta.extra_content };
    const piece = delta.function?.arguments;
    // Some servers send the arguments as an object instead of its JSON text.
    if (piece !== null && piece !== undefined) {
      call.arguments += typeof piece === "string" ? piece : JSON.stringify(piece);
    }
  }

  /**
   * The call that a delta belongs to. By OpenAI's rules its index says so, and only the first delta has an id
   * and a name. Some servers leave the index out, or number every call 0: then another id, or a name without
   * any id or index, begins another call. Others give several calls one id: then the index tells them apart.
   */
  #findContinued({ index, id, function: called }: CallDelta) {
    if (id) {
      const isOther = (call: { index: number | undefined }) =>
        typeof index === "number" && call.index !== undefined && call.index !== index;
      const known = this.#calls.findLast((call) => call.id === id && !isOther(call));
      if (known) return known;
    }
    if (typeof index === "number")
      return this.#calls.findLast((call) => call.index === index && (!id || !call.id));
    return id || called?.name ? undefined : this.#calls.at(-1);
  }

  /** The calls that count: none of a declined answer, and not one that was cut before its arguments began. */
  #callsThatCount(): ChatCall[] {
    const stop = this.#stop();
    if (stop === "refusal" || !this.#callsAllowed) return [];
    const half = stop === "max-tokens" && this.#calls.at(-1)?.arguments === "";
    return half ? this.#calls.slice(0, -1) : this.#calls;
  }

  #stop(): StopReason {
    if (this.#refused || this.#finish === "content_filter") return "refusal";
    if (this.#finish === "length") return "max-tokens";
    // Several servers say "stop" when they mean "tool_calls".
    if (this.#calls.length > 0 && this.#callsAllowed) return "tool-calls";
    return this.#finish === "stop" ? "end" : "other";
  }
}
