import { createAnswerTool } from "../../agent/mcp/people/answer-tool.ts";
import type { Asker } from "../../agent/mcp/people/asker.ts";
import type { UserMessage } from "../../agent/messages.ts";
import type { Tool } from "../../agent/tools/tool.ts";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import type { TurnRunnerOptions } from "./turn-runner-options.ts";

/** Whose accounts the turn's calls may use: those of whoever began it. */
export function findAsker(thread: ThreadId, asked: readonly UserMessage[]): Asker | undefined {
  const [first] = asked;
  if (!first) return undefined;
  const { platform, workspace } = parseThreadId(thread);
  const { id, name } = first.author;
  const listOthers = () => asked.filter(({ author }) => author.id !== id).map(({ author }) => author.name);
  return {
    person: `${platform}:${workspace}:${id}`,
    name,
    others: () => [...new Set(listOthers())],
    ...(first.trace !== undefined && { trace: first.trace }),
  };
}

/** With the tool by which people answer servers, where there are any. */
export function addAnswering(
  tools: readonly Tool[],
  { inputs }: TurnRunnerOptions,
  asker: Asker | undefined,
): readonly Tool[] {
  return inputs && tools.length > 0 ? [...tools, createAnswerTool(inputs, asker)] : tools;
}
