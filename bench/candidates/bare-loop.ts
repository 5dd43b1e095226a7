/** The floor: the least that an agent does with the OpenAI SDK. No retries, no storage, no limits, no display. */
import OpenAI from "openai";
import type {
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import { add, addDescription, apiKey, instructions, type Open } from "./candidate.ts";

const parameters = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
};

export const open: Open = async ({ baseUrl, model }) => {
  const client = new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 });

  const reply = async (messages: ChatCompletionMessageParam[]) => {
    const stream = await client.chat.completions.create({
      model,
      messages,
      stream: true,
      tools: [{ type: "function", function: { name: "add", description: addDescription, parameters } }],
    });
    let content = "";
    const calls: ChatCompletionMessageFunctionToolCall[] = [];
    for await (const { choices } of stream) {
      const delta = choices[0]?.delta;
      content += delta?.content ?? "";
      for (const { index, id = "", function: part } of delta?.tool_calls ?? []) {
        const call = (calls[index] ??= { id, type: "function", function: { name: "", arguments: "" } });
        call.function.name += part?.name ?? "";
        call.function.arguments += part?.arguments ?? "";
      }
    }
    return { content, calls };
  };

  return {
    async ask(history, task) {
      const messages: ChatCompletionMessageParam[] = [
        { role: "system", content: instructions },
        ...history.map(({ role, text }) => ({ role, content: text })),
        { role: "user", content: task },
      ];
      for (;;) {
        const { content, calls } = await reply(messages);
        if (calls.length === 0) return content;
        messages.push({ role: "assistant", content, tool_calls: calls });
        for (const { id, function: called } of calls) {
          const input = JSON.parse(called.arguments) as { a: number; b: number };
          messages.push({ role: "tool", tool_call_id: id, content: add(input) });
        }
      }
    },
  };
};
