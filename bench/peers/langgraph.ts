import type { BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { add, addDescription, apiKey, instructions, type Open } from "../candidates/candidate.ts";

export const open: Open = async ({ baseUrl, model }) => {
  const agent = createReactAgent({
    llm: new ChatOpenAI({
      model,
      apiKey,
      maxRetries: 0,
      streaming: true,
      configuration: { baseURL: baseUrl },
    }),
    prompt: instructions,
    tools: [
      tool(async (input: { a: number; b: number }) => add(input), {
        name: "add",
        description: addDescription,
        schema: z.object({ a: z.number(), b: z.number() }),
      }),
    ],
  });
  return {
    async ask(history, task) {
      const messages = [
        ...history.map(({ role, text }) => ({ role, content: text })),
        { role: "user", content: task },
      ];
      let last = "";
      const stream = await agent.stream(
        { messages },
        {
          // With "messages" it streams; the option of ChatOpenAI would count tokens with a table from the internet.
          streamMode: ["updates", "messages"],
          recursionLimit: 2_000,
        },
      );
      for await (const [mode, update] of stream) {
        if (mode !== "updates") continue;
        // The node of the model always gives a list.
        const { agent: said } = update as { agent?: { messages: BaseMessage[] } };
        last = said?.messages.at(-1)?.text ?? last;
      }
      return last;
    },
  };
};
