import { cutText } from "../text/text.ts";
import type { Skill } from "./library.ts";

const heading =
  "Skills are instructions for particular tasks. When a task fits one of these, load it with get_skill before you begin, and follow it.";

/** How many characters of each description are kept, from the longest form down to names alone. */
const lengths = [1_024, 300, 120, 0];

/**
 * What the system prompt says about the skills: a line each, in at most `budget` tokens as `count` sees them.
 * Descriptions are shortened before skills are omitted, and a truncated list says so. Empty without skills.
 */
export function formatSkillCatalogue(
  skills: readonly Skill[],
  budget: number,
  count: (text: string) => number,
): string {
  if (skills.length === 0) return "";
  for (const length of lengths) {
    const text = renderSkills(skills, length, skills.length);
    if (count(text) <= budget) return text;
  }
  let shown = skills.length;
  while (shown > 0 && count(renderSkills(skills, 0, shown)) > budget) shown = Math.floor(shown * 0.9);
  return renderSkills(skills, 0, shown);
}

function renderSkills(skills: readonly Skill[], length: number, shown: number): string {
  const lines = skills.slice(0, shown).map(({ name, description }) => {
    return length === 0 ? `- ${name}` : `- ${name}: ${cutText(description.replaceAll(/\s+/g, " "), length)}`;
  });
  const rest = skills.length - shown;
  if (rest > 0)
    lines.push(`- and ${rest} more: get_skill finds them by words, and with an empty name lists all.`);
  return [heading, ...lines].join("\n");
}
