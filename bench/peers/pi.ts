import { Agent, type AgentTool } from "@mariozechner/pi-agent-core";
import { type AssistantMessage, type Model, Type } from "@mariozechner/pi-ai";
import { add, addDescription, apiKey, instructions, type Open, type Said } from "../candidates/candidate.ts";

const parameters = Type.Object({ a: Type.Number(), b: Type.Number() });
const addTool: AgentTool<typeof parameters> = {
  name: "add",
  label: "add",
  description: addDescription,
  parameters,
  execute: async (_id, input) => ({ content: [{ type: "text", text: add(input) }], details: undefined }),
};

const nothing = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

export const open: Open = async ({ baseUrl, model: name }) => {
  const model: Model<"openai-completions"> = {
    id: name,
    name,
    api: "openai-completions",
    provider: "bench",
    baseUrl,
    reasoning: false,
    input: ["text"],
    cost: nothing,
    contextWindow: 1_000_000,
    maxTokens: 8_000,
  };
  const said = ({ role, text }: Said, index: number) =>
    role === "user"
      ? { role, content: text, timestamp: index }
      : ({
          role,
          content: [{ type: "text", text }],
          api: model.api,
          provider: model.provider,
          model: name,
          usage: { ...nothing, totalTokens: 0, cost: { ...nothing, total: 0 } },
          stopReason: "stop",
          timestamp: index,
        } satisfies AssistantMessage);
  return {
    async ask(history, task) {
      const agent = new Agent({
        getApiKey: () => apiKey,
        initialState: {
          systemPrompt: instructions,
          model,
          messages: history.map(said),
          tools: [addTool],
        },
      });
      await agent.prompt(task);
      if (agent.state.errorMessage) throw new Error(agent.state.errorMessage);
      const last = agent.state.messages.at(-1);
      return last?.role === "assistant"
        ? last.content.map((part) => (part.type === "text" ? part.text : "")).join("")
        : "";
    },
  };
};
