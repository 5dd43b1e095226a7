import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { resolveSkillPaths } from "../../../src/agent/skills/resolve-paths.ts";

const tea = {
  mount: "/skills/tea",
  resources: [
    "LICENSE",
    "forms.md",
    "references/leaves.md",
    "scripts/a.py",
    "scripts/a.py.txt",
    "scripts/b.sh",
  ],
};
const resolve = (text: string) => resolveSkillPaths(text, tea);

describe("A path of a skill's text is written out", () => {
  test.each([
    ["python scripts/a.py in.csv", "python /skills/tea/scripts/a.py in.csv"],
    ["bash ./scripts/b.sh", "bash /skills/tea/scripts/b.sh"],
    ["node $SKILL_DIR/scripts/x.mts", "node /skills/tea/scripts/x.mts"],
    ["${SKILL_DIR}/a ${CLAUDE_SKILL_DIR}/b {baseDir}/c", "/skills/tea/a /skills/tea/b /skills/tea/c"],
    ["see `./references/leaves.md`.", "see `/skills/tea/references/leaves.md`."],
    ["[leaves](references/leaves.md#green)", "[leaves](/skills/tea/references/leaves.md#green)"],
    ["[forms](forms.md), or ./forms.md", "[forms](/skills/tea/forms.md), or /skills/tea/forms.md"],
    ["cat scripts/a.py.txt;scripts/a.py", "cat /skills/tea/scripts/a.py.txt;/skills/tea/scripts/a.py"],
    ["(scripts/a.py)", "(/skills/tea/scripts/a.py)"],
  ])("%s", (text, resolved) => {
    expect(resolve(text)).toBe(resolved);
    // Nothing is written out twice.
    expect(resolve(resolved)).toBe(resolved);
  });
});

describe("What is no path of the skill stays", () => {
  test.each([
    "python scripts/missing.py",
    "/repo/scripts/a.py and ../scripts/a.py and my-scripts/a.py",
    "scripts/a.pyc, scripts/a.py/x",
    "write forms.md, keep the LICENSE",
    "https://example.com/scripts/a.py",
    "$SKILL_DIRECTORY",
  ])("%s", (text) => expect(resolve(text)).toBe(text));

  test("whatever its files are called", () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string({ minLength: 1 }), { maxLength: 4 }), (text, resources) => {
        const resolved = resolveSkillPaths(text, { mount: "/skills/tea", resources });
        expect(resolved.length).toBeGreaterThanOrEqual(0);
        if (!resources.some((path) => text.includes(path)) && !/[${]/.test(text)) expect(resolved).toBe(text);
      }),
      { numRuns: 50 },
    );
  });
});
