import { z } from "zod";
import { defineTool, type Tool } from "../tools/tool.ts";
import type { Skill } from "./library.ts";

const maxListed = 100;
/** How many skills a search lists with descriptions. */
const maxFound = 20;

const input = z.object({
  name: z.string().describe("Name of the skill, as in the list, or words to search for"),
});

/** The tool that loads a skill. Register it only when there are skills. */
export function createGetSkillTool(skills: readonly Skill[]): Tool {
  return defineTool({
    name: "get_skill",
    description:
      "Loads the instructions of a skill by its name, or finds skills by words of their descriptions. Follow the instructions for the task at hand; load the files that they mention only when you need them.",
    input,
    effect: "read",
    run({ name }) {
      const skill = skills.find((candidate) => candidate.name === name.trim());
      if (skill)
        return Promise.resolve({ status: "ok", text: describeSkill(skill), details: { skill: skill.name } });
      // An error even if the search found something: no skill was loaded that would have to stay in context.
      const text = `There is no skill ${JSON.stringify(name)}. ${listSkills(searchSkills(skills, name), skills)}`;
      return Promise.resolve({ status: "error", text });
    },
  });
}

/** The skills whose name or description contains all of the words. */
function searchSkills(skills: readonly Skill[], query: string): Skill[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return skills.filter(({ name, description }) => {
    const text = `${name} ${description}`.toLowerCase();
    return words.length > 0 && words.every((word) => text.includes(word));
  });
}

function listSkills(found: readonly Skill[], all: readonly Skill[]): string {
  const names = (skills: readonly Skill[]) => skills.map(({ name }) => name).join(", ");
  if (found.length === 0) return `Skills: ${names(all)}.`;
  const lines = found
    .slice(0, maxFound)
    .map(({ name, description }) => `- ${name}: ${description.replaceAll(/\s+/g, " ")}`);
  if (found.length > maxFound) lines.push(`- and ${names(found.slice(maxFound))}`);
  return ["These have the words:", ...lines].join("\n");
}

/**
 * The second level, with what is needed to reach the third: the text as its author wrote it, and the base of its relative
 * paths.
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
