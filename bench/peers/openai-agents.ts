import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";
import { add, addDescription, apiKey, instructions, type Open } from "../candidates/candidate.ts";

export const open: Open = async ({ baseUrl, model }) => {
  setTracingDisabled(true);
  const client = new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 });
  const agent = new Agent({
    name: "bench",
    instructions,
    model: new OpenAIChatCompletionsModel(client, model),
    tools: [
      tool({
        name: "add",
        description: addDescription,
        parameters: z.object({ a: z.number(), b: z.number() }),
        execute: async (input) => add(input),
      }),
    ],
  });
  return {
    async ask(history, task) {
      const input = [
        ...history.map(({ role, text }) =>
          role === "user"
            ? { role, content: text }
            : { role, status: "completed" as const, content: [{ type: "output_text" as const, text }] },
        ),
        { role: "user" as const, content: task },
      ];
      const result = await run(agent, input, { stream: true, maxTurns: 1_000 });
      for await (const event of result) void event;
      await result.completed;
      return String(result.finalOutput);
    },
  };
};
