import type { ChoiceMenu } from "../../chat/outbound.ts";

/** What the whole message asks for: `!skill`, or `/skill` where the platform leaves that to us, with its word. */
export function readSkillCommand(text: string): { skill?: string } | undefined {
  const found = /^[/!]skill(?:\s+(\S+))?$/i.exec(text.trim());
  if (!found) return undefined;
  const [, skill] = found;
  return skill === undefined ? {} : { skill };
}

/** The word that takes the choice back. */
const none = "none";

/**
 * The reply to the command, and what it chooses, if the thread has that skill; `null` takes the choice back.
 *
 * @param offered the skills that the thread has
 */
export function answerSkillCommand(
  written: string | undefined,
  current: string | undefined,
  offered: readonly string[],
): { markdown: string; chosen?: string | null } {
  if (written === undefined) return { markdown: describe(current, offered) };
  const word = written.toLowerCase();
  if (word === none) return { markdown: "From the next task on, no skill is chosen here.", chosen: null };
  const chosen = offered.find((name) => name.toLowerCase() === word);
  if (chosen !== undefined)
    return { markdown: `From the next task on, the skill ${chosen} is used here.`, chosen };
  const instead = offered.length > 0 ? `choose one of ${offered.join(", ")}` : "this thread has none";
  return { markdown: `The skill ${written} cannot be chosen here: ${instead}.` };
}

function describe(current: string | undefined, offered: readonly string[]): string {
  if (offered.length === 0) return "This thread has no skills.";
  const now = current === undefined ? "No skill is chosen here" : `The skill ${current} is used here`;
  const back = current === undefined ? "" : ", `!skill none` takes that back";
  return `${now}; there are ${offered.join(", ")}. \`!skill <name>\` chooses one from the next task on${back}.`;
}

const choicePrefix = "skill:";

/** The skill that the id of a choice names; undefined where it means something else. */
export function readSkillChoice(id: string): string | undefined {
  return id.startsWith(choicePrefix) ? id.slice(choicePrefix.length) : undefined;
}

/** A menu of the thread's skills; none where it has none. */
export function offerSkills(current: string | undefined, offered: readonly string[]): ChoiceMenu[] {
  if (offered.length === 0) return [];
  const options = offered.map((name) => ({
    id: `${choicePrefix}${name}`,
    label: name,
    ...(name === current && { about: "used here" }),
  }));
  const back = { id: `${choicePrefix}${none}`, label: "No skill" };
  return [{ label: "Choose the skill from the next task on…", options: [back, ...options] }];
}
