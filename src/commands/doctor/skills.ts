import { createSkillLibrary, type SkillSet } from "../../agent/skills/library.ts";
import type { CommandContext } from "../../app/command-context.ts";
import { shippedSkills } from "../../app/host.ts";
import type { Finding } from "../../chat/adapter.ts";

/** Which skills there are, and which cannot be used. */
export async function checkSkills(setup: CommandContext): Promise<Finding[]> {
  const { skills: loaded, problems } = await loadSkills(setup);
  return [
    { level: "ok", text: loaded.map(({ name }) => name).join(", ") || "none" },
    ...problems.map(({ path, reason }): Finding => ({ level: "warning", text: `${path}: ${reason}` })),
  ];
}

/** Those that the settings name, or the ones that ship. */
export function loadSkills({ config: { settings } }: CommandContext): Promise<SkillSet> {
  const { folders = [shippedSkills], pins } = settings.skills;
  return createSkillLibrary({ folders, pins }).current();
}
