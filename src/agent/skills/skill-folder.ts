import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { Skill } from "./library.ts";

/**
 * The same sandbox, whose commands find `SKILL_DIR` set to the folder of the skill that they name first: what a
 * skill's own scripts say of their folder holds, as what its text says does (see `resolveSkillPaths`).
 *
 * @example
 * // In `bash /skills/tea/scripts/brew.sh`, and in all that it calls, SKILL_DIR is /skills/tea.
 */
export function provideSkillFolder(sandbox: Sandbox, skills: readonly Pick<Skill, "mount">[]): Sandbox {
  const describe = (command: string) => {
    const folder = findFolder(command, skills);
    return folder === undefined ? {} : { environment: { SKILL_DIR: folder } };
  };
  return {
    ...sandbox,
    exec: (request) => sandbox.exec({ ...request, ...describe(request.command) }),
    start: (request) => sandbox.start({ ...request, ...describe(request.command) }),
  };
}

function findFolder(command: string, skills: readonly Pick<Skill, "mount">[]): string | undefined {
  const named = skills.flatMap(({ mount }) => {
    const at = command.indexOf(`${mount}/`);
    return at === -1 ? [] : [{ mount, at }];
  });
  return named.toSorted((a, b) => a.at - b.at)[0]?.mount;
}
