import { Agent, type AgentTool } from "@mariozechner/pi-agent-core";
import { type AssistantMessage, type Model, Type } from "@mariozechner/pi-ai";
import {
  add,
  addDescription,
  apiKey,
  type Converse,
  instructions,
  lookDescription,
  lookInstructions,
  type Open,
  type Said,
} from "../candidates/candidate.ts";
import { lookAt } from "../week/week.ts";
import { windowTokens } from "../week/window.ts";

const parameters = Type.Object({ a: Type.Number(), b: Type.Number() });
const addTool: AgentTool<typeof parameters> = {
  name: "add",
  label: "add",
  description: addDescription,
  parameters,
  execute: async (_id, input) => ({ content: [{ type: "text", text: add(input) }], details: undefined }),
};

const nothing = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

function describeModel(name: string, baseUrl: string, contextWindow: number): Model<"openai-completions"> {
  return {
    id: name,
    name,
    api: "openai-completions",
    provider: "bench",
    baseUrl,
    reasoning: false,
    input: ["text"],
    cost: nothing,
    contextWindow,
    maxTokens: 8_000,
  };
}

export const open: Open = async ({ baseUrl, model: name }) => {
  const model = describeModel(name, baseUrl, 1_000_000);
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
      return prompt(agent, task);
    },
  };
};

async function prompt(agent: Agent, task: string): Promise<string> {
  await agent.prompt(task);
  if (agent.state.errorMessage) throw new Error(agent.state.errorMessage);
  const last = agent.state.messages.at(-1);
  return last?.role === "assistant"
    ? last.content.map((part) => (part.type === "text" ? part.text : "")).join("")
    : "";
}

const lookParameters = Type.Object({ file: Type.String(), lines: Type.Number() });
const lookTool: AgentTool<typeof lookParameters> = {
  name: "look",
  label: "look",
  description: lookDescription,
  parameters: lookParameters,
  execute: async (_id, input) => ({ content: [{ type: "text", text: lookAt(input) }], details: undefined }),
};

export const converse: Converse = async ({ baseUrl, model: name }) => {
  const agent = new Agent({
    getApiKey: () => apiKey,
    initialState: {
      systemPrompt: lookInstructions,
      model: describeModel(name, baseUrl, windowTokens),
      messages: [],
      tools: [lookTool],
    },
  });
  return { say: (task) => prompt(agent, task) };
};
