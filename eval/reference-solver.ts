import type { AssistantPart } from "../src/agent/messages.ts";
import type { LanguageModel } from "../src/agent/model.ts";
import { noUsage } from "../src/agent/model.ts";
import type { EvalTask } from "./task.ts";

/** In place of a model: does a task as its reference solution does, with one call of the agent's own `bash` tool. */
export function createReferenceSolver({ solution, id }: EvalTask): LanguageModel {
  const writing = solution.files.map(
    ({ path, data }) =>
      `mkdir -p "$(dirname '${path}')" && echo ${data.toString("base64")} | base64 -d > '${path}'`,
  );
  const command = [...writing, solution.command].filter(Boolean).join("\n");
  return {
    id: "reference/solution",
    limits: { contextTokens: 200_000, maxOutputTokens: 32_000, images: false },
    async *stream({ messages }) {
      const isDone = messages.at(-1)?.role === "tool";
      const part: AssistantPart = isDone
        ? { type: "text", text: "Done." }
        : { type: "tool-call", call: { id: `solve-${id}`, name: "bash", input: { command } } };
      yield {
        type: "done",
        message: {
          ...{ role: "assistant", id: `${id}-${messages.length}`, model: "reference/solution" },
          ...{ parts: [part], stop: isDone ? "end" : "tool-calls" },
        },
        usage: { ...noUsage, calls: 1 },
      };
    },
  };
}
