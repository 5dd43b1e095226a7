import { z } from "zod";
import { defineTool } from "../tools/tool.ts";
import type { Tool } from "../tools/tool.ts";
import type { Skill } from "./library.ts";

const maxListed = 100;

/** The tool that loads a skill. Register it only when there are skills. */
export function createGetSkillTool(skills: readonly Skill[]): Tool {
  return defineTool({
    name: "get_skill",
    description:
      "Loads the instructions of a skill from the list of skills. Follow them for the task at hand; load the files that they mention only when you need them.",
    input: z.object({ name: z.string().describe("Name of the skill, as in the list") }),
    effect: "read",
    run({ name }) {
      const skill = skills.find((candidate) => candidate.name === name.trim());
      if (skill)
        return Promise.resolve({ status: "ok", text: describeSkill(skill), details: { skill: skill.name } });
      const names = skills.map((candidate) => candidate.name).join(", ");
      return Promise.resolve({
        status: "error",
        text: `There is no skill ${JSON.stringify(name)}. Skills: ${names}.`,
      });
    },
  });
}

/**
 * The second level, with what is needed to reach the third: the text stays as its author wrote it, and one line
 * says where its relative paths begin.
 */
function describeSkill(skill: Skill): string {
  const listed = skill.resources.slice(0, maxListed).map((path) => `- ${path}`);
  const rest = skill.resources.length - listed.length;
  if (rest > 0) listed.push(`- and ${rest} more, see: ls -R ${skill.mount}`);
  return [
    `<skill name="${skill.name}">`,
    `SKILL_DIR=${skill.mount}`,
    "It is read-only, and the shell does not know the variable: write the path out. Relative paths in the instructions begin there. Commands run in the workspace, and results belong there.",
    ...(skill.expectedTools ? [`Tools that its author expects: ${skill.expectedTools}`] : []),
    ...(listed.length > 0 ? ["Files:", ...listed] : []),
    "",
    skill.instructions,
    "</skill>",
  ].join("\n");
}
