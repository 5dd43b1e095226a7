import { createOpenAI } from "@ai-sdk/openai";
import { stepCountIs, tool, ToolLoopAgent } from "ai";
import { z } from "zod";
import { add, addDescription, apiKey, instructions, type Open } from "../candidates/candidate.ts";

export const open: Open = async ({ baseUrl, model }) => {
  const agent = new ToolLoopAgent({
    model: createOpenAI({ baseURL: baseUrl, apiKey }).chat(model),
    instructions,
    maxRetries: 0,
    stopWhen: stepCountIs(1_000),
    tools: {
      add: tool({
        description: addDescription,
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        execute: async (input) => add(input),
      }),
    },
  });
  return {
    async ask(history, task) {
      const messages = [
        ...history.map(({ role, text }) => ({ role, content: text })),
        { role: "user" as const, content: task },
      ];
      const result = await agent.stream({ messages });
      await result.consumeStream();
      return result.text;
    },
  };
};
