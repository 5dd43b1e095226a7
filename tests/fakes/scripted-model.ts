import { randomUUID } from "node:crypto";
import type { LanguageModel, ModelRequest } from "../../src/agent/model.ts";
import type { ModelError } from "../../src/agent/model.ts";
import type { AssistantPart, StopReason } from "../../src/agent/messages.ts";

/** One reply of the scripted model. */
export type Reply =
  | {
      text?: string;
      /** `id`: default one of its own. */
      calls?: { id?: string; name: string; input?: unknown; malformed?: string }[];
      stop?: StopReason;
      /** What it waits for before it replies. */
      after?: Promise<unknown>;
    }
  | { error: ModelError }
  /** Streams this text, then waits for its abort. */
  | { hang: string };

/**
 * A language model that replies from a list or a function, and remembers what it was asked. It stands where a
 * provider would be, for tests of what surrounds a model.
 */
export function scriptedModel(replies: Reply[] | ((request: ModelRequest, call: number) => Reply)) {
  const requests: ModelRequest[] = [];
  const model: LanguageModel = {
    id: "test/scripted",
    limits: { contextTokens: 100_000, maxOutputTokens: 8_000, images: false },
    async *stream(request, signal) {
      requests.push({ ...request, messages: structuredClone(request.messages) });
      const call = requests.length;
      const reply = Array.isArray(replies) ? replies[call - 1] : replies(request, call);
      if (!reply) throw new Error(`The script has no reply for call ${call}.`);
      signal.throwIfAborted();
      if ("error" in reply) throw reply.error;
      if ("hang" in reply) {
        yield { type: "text", delta: reply.hang };
        signal.throwIfAborted();
        await new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        });
        return;
      }
      const { text = "", calls = [], stop } = reply;
      await reply.after;
      if (text) yield { type: "text", delta: text };
      const parts: AssistantPart[] = [
        ...(text ? [{ type: "text", text } as const] : []),
        ...calls.map(({ id, name, input = {}, malformed }, index): AssistantPart => {
          return {
            type: "tool-call",
            call: {
              id: id ?? `call_${call}_${index}`,
              name,
              input,
              ...(malformed !== undefined && { malformed }),
            },
          };
        }),
      ];
      yield {
        type: "done",
        message: {
          role: "assistant",
          id: randomUUID(),
          parts,
          model: "test/scripted",
          stop: stop ?? (calls.length > 0 ? "tool-calls" : "end"),
        },
        usage: { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, cost: 0.01, calls: 1 },
      };
    },
  };
  return { model, requests };
}
