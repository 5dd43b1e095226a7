import { createSkillLibrary, type SkillSet } from "../../agent/skills/library.ts";
import type { CommandContext } from "../../app/command-context.ts";
import { shippedSkills } from "../../app/host.ts";
import type { Finding } from "../../chat/adapter.ts";
import { findMissingModules } from "./python-modules.ts";

/** Which skills there are, which cannot be used, and what their scripts lack. */
export async function checkSkills(
  setup: Pick<CommandContext, "config">,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { skills: loaded, problems } = await loadSkills(setup);
  const missing = await findMissingModules(loaded, signal);
  return [
    { level: "ok", text: loaded.map(({ name }) => name).join(", ") || "none" },
    ...problems.map(({ path, reason }): Finding => ({ level: "warning", text: `${path}: ${reason}` })),
    ...(missing.size > 0 ? [warnOfModules(missing)] : []),
  ];
}

function warnOfModules(missing: ReadonlyMap<string, readonly string[]>): Finding {
  const each = [...missing].map(([name, users]) => `${name} (${users.join(", ")})`).join(", ");
  const text = `The sandbox's Python lacks modules that scripts of skills import: ${each}. Install their packages for all users of this host (such as python3-pypdf), or into the image: docs/operations.md.`;
  return { level: "warning", text };
}

/** Those that the settings name, or the ones that ship. */
export function loadSkills({ config: { settings } }: Pick<CommandContext, "config">): Promise<SkillSet> {
  const { folders = [shippedSkills], pins } = settings.skills;
  return createSkillLibrary({ folders, pins }).current();
}
