import { z } from "zod";
import { defineTool, type Tool, type ToolResult } from "../tools/tool.ts";
import type { Skill } from "./library.ts";
import { splitPages } from "./pages.ts";
import { resolveSkillPaths } from "./resolve-paths.ts";

const maxListed = 100;
/** How many skills a search lists with descriptions. */
const maxFound = 20;

export const getSkillName = "get_skill";

const input = z.object({
  name: z.string().describe("Name of the skill, as in the list, or words to search for"),
  page: z.number().int().min(1).default(1).describe("Of a long skill"),
});

/** The tool that loads a skill. Register it only when there are skills. */
export function createGetSkillTool(skills: readonly Skill[]): Tool {
  return defineTool({
    name: getSkillName,
    description:
      "Loads the instructions of a skill by its name, or finds skills by words of their descriptions. Follow the instructions for the task at hand; load the files that they mention only when you need them.",
    input,
    effect: "read",
    // A page and the list of files, whatever their lines.
    limits: { lines: Number.MAX_SAFE_INTEGER, size: 128 * 1024 },
    run({ name, page }) {
      const skill = findSkill(skills, name);
      if (skill) return Promise.resolve(describeSkill(skill, page));
      // An error even if the search found something: no skill was loaded that would have to stay in context.
      const text = `There is no skill ${JSON.stringify(name)}. ${listSkills(searchSkills(skills, name), skills)}`;
      return Promise.resolve({ status: "error", text });
    },
  });
}

/** By its name, also as people and models write one: `/tea`, `$tea`, `Tea`. */
function findSkill(skills: readonly Skill[], asked: string): Skill | undefined {
  const name = asked.trim();
  const plain = name.replace(/^[/$@]/, "").toLowerCase();
  return (
    skills.find((skill) => skill.name === name) ?? skills.find((skill) => skill.name.toLowerCase() === plain)
  );
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
 * The second level, with what is needed to reach the third: the text with its own paths written out, and on its first
 * page the folder that all of them are in.
 */
function describeSkill(skill: Skill, page: number): ToolResult {
  const pages = splitPages(resolveSkillPaths(skill.instructions, skill));
  const shown = pages[page - 1];
  if (shown === undefined) {
    const count = pages.length === 1 ? "1 page" : `${pages.length} pages`;
    return { status: "error", text: `The skill ${skill.name} has ${count}; there is no page ${page}.` };
  }
  const of = pages.length > 1 ? ` page="${page} of ${pages.length}"` : "";
  const text = [
    `<skill name="${skill.name}"${of}>`,
    ...(page === 1 ? describeFiles(skill) : []),
    shown,
    "</skill>",
    ...(page < pages.length
      ? [`It goes on: load page ${page + 1} with get_skill before you follow it.`]
      : []),
  ].join("\n");
  return { status: "ok", text, details: { skill: skill.name } };
}

function describeFiles({ mount, resources, expectedTools }: Skill): string[] {
  const listed = resources.slice(0, maxListed).map((path) => `- ${path}`);
  const rest = resources.length - listed.length;
  if (rest > 0) listed.push(`- and ${rest} more, see: ls -R ${mount}`);
  return [
    `Its folder is ${mount}, read-only; paths in its files are relative to it, and a command that names a file below it has it in $SKILL_DIR. Commands run in the workspace, and results belong there.`,
    ...(expectedTools ? [`Tools that its author expects: ${expectedTools}`] : []),
    ...(listed.length > 0 ? ["Files:", ...listed] : []),
    "",
  ];
}
