import { describeLargeFixed } from "../../agent/context/fixed-part.ts";
import { createLearntWindows } from "../../agent/context/learnt-windows.ts";
import { createTokenCounter, estimateTokens } from "../../agent/context/tokens.ts";
import { describeLeftOut, limitTools } from "../../agent/llm/tool-limit.ts";
import { buildSystemPrompt } from "../../agent/loop/prompt/prompt.ts";
import { formatServerInstructions } from "../../agent/mcp/instructions.ts";
import type { McpOffer } from "../../agent/mcp/offer.ts";
import type { LanguageModel } from "../../agent/model.ts";
import { formatSkillCatalogue } from "../../agent/skills/catalogue.ts";
import { createGetSkillTool } from "../../agent/skills/get-skill.ts";
import type { Skill } from "../../agent/skills/library.ts";
import { askUser } from "../../agent/tools/ask-user.ts";
import { createSandboxTools, createSessionTools } from "../../agent/tools/built-in.ts";
import { deferTools } from "../../agent/tools/dispatch/deferred-tools.ts";
import { describeTool } from "../../agent/tools/definition.ts";
import { usefulPrograms } from "../../sandbox/sandbox.ts";

/** The most tokens that the list of skills takes of a prompt. */
export const catalogueTokens = 2_000;

/**
 * Finds the models for which prompt and tools are too large or too many, as a turn sends them in a channel without settings of its
 * own; what a sandbox adds is left out.
 *
 * @param offered what MCP servers offer; without it they are not counted
 * @returns a sentence for each of those models, with its name
 */
export async function findTooSmallModels(
  models: readonly Pick<LanguageModel, "id" | "limits">[],
  { instructions, skills, offered }: { instructions: string; skills: readonly Skill[]; offered?: McpOffer },
): Promise<string[]> {
  const system = buildSystemPrompt({
    ...{ noSandbox: "", sandboxNote: "", installed: usefulPrograms, has: () => true, instructions },
    skills: formatSkillCatalogue(skills, catalogueTokens, estimateTokens),
    servers: formatServerInstructions(offered?.instructions ?? []),
  });
  const own = [...createSandboxTools(), ...createSessionTools(), createGetSkillTool(skills), askUser];
  const tools = [...own, ...(offered?.tools ?? [])];
  const { measureUsable } = createLearntWindows();
  const counter = createTokenCounter();
  const find = () =>
    models.flatMap((model) => {
      const { sent } = deferTools(tools, model.limits, counter);
      const definitions = sent.map(describeTool);
      const { leftOut } = limitTools(definitions, model.limits.tools);
      return [
        describeLargeFixed({ system, tools: definitions }, measureUsable(model), counter) ?? [],
        leftOut.length === 0 || model.limits.tools === undefined
          ? []
          : describeLeftOut(leftOut, model.limits.tools),
      ]
        .flat()
        .map((text) => `${model.id}: ${text}`);
    });
  // Nearly always they are small enough by any estimate, and the vocabulary takes its time to load.
  if (find().length === 0) return [];
  await counter.load();
  return find();
}
