import { createOpenAI } from "@ai-sdk/openai";
import { type ModelMessage, stepCountIs, tool, ToolLoopAgent } from "ai";
import { z } from "zod";
import {
  add,
  addDescription,
  apiKey,
  type Converse,
  instructions,
  lookDescription,
  lookInstructions,
  type Open,
} from "../candidates/candidate.ts";
import { lookAt } from "../week/week.ts";

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

export const converse: Converse = async ({ baseUrl, model }) => {
  const agent = new ToolLoopAgent({
    model: createOpenAI({ baseURL: baseUrl, apiKey }).chat(model),
    instructions: lookInstructions,
    maxRetries: 0,
    stopWhen: stepCountIs(1_000),
    tools: {
      look: tool({
        description: lookDescription,
        inputSchema: z.object({ file: z.string(), lines: z.number() }),
        execute: async (input) => lookAt(input),
      }),
    },
  });
  const messages: ModelMessage[] = [];
  return {
    async say(task) {
      messages.push({ role: "user", content: task });
      const result = await agent.stream({ messages });
      await result.consumeStream();
      messages.push(...(await result.responseMessages));
      return result.text;
    },
  };
};
