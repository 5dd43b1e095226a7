import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTokenCounter } from "../../../src/agent/context/tokens.ts";
import { formatSkillCatalogue } from "../../../src/agent/skills/catalogue.ts";
import { createGetSkillTool } from "../../../src/agent/skills/get-skill.ts";
import type { Skill } from "../../../src/agent/skills/library.ts";
import type { ToolResult } from "../../../src/agent/tools/tool.ts";

function skill(name: string, more: Partial<Skill> = {}): Skill {
  return {
    name,
    description: `About ${name}. ${"It goes on and on. ".repeat(20)}`,
    expectedTools: "",
    instructions: "Do it.",
    resources: [],
    folder: `/srv/secret-host-path/${name}`,
    mount: `/skills/${name}`,
    ...more,
  };
}

const many = Array.from({ length: 200 }, (_, index) => skill(`skill-${index}`));
const length = (text: string) => text.length;

describe("the list of skills for the prompt", () => {
  test("is empty without skills", () => {
    expect(formatSkillCatalogue([], 1_000, length)).toBe("");
  });

  test("has a line for each, also when a description has several", () => {
    const skills = [skill("tea", { description: "Makes\n  tea." }), skill("cake", { description: "Bakes." })];
    expect(formatSkillCatalogue(skills, 1_000, length).split("\n").slice(1)).toEqual([
      "- tea: Makes tea.",
      "- cake: Bakes.",
    ]);
  });

  test("shortens descriptions before it drops them, and drops them before it drops skills", () => {
    const shortened = formatSkillCatalogue(many, 40_000, length);
    expect(shortened).toContain("- skill-199: About skill-199.");
    expect(shortened).toContain("…");
    const names = formatSkillCatalogue(many, 4_000, length);
    expect(names).toContain("\n- skill-199");
    expect(names).not.toContain("About");
    const cut = formatSkillCatalogue(many, 1_000, length);
    expect(cut).toMatch(/and \d+ more: get_skill finds them by words, and with an empty name lists all\.$/);
  });

  test("keeps to its budget of tokens", async () => {
    const counter = createTokenCounter();
    await counter.load();
    fc.assert(
      fc.property(
        fc.integer({ min: 80, max: 20_000 }),
        fc.integer({ min: 1, max: 200 }),
        (budget, amount) => {
          const text = formatSkillCatalogue(many.slice(0, amount), budget, (part) => counter.count(part));
          expect(counter.count(text)).toBeLessThanOrEqual(budget);
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe("get_skill", () => {
  function get(skills: Skill[], name: string, page?: number): Promise<ToolResult> {
    const tool = createGetSkillTool(skills);
    return tool.run(tool.input.parse({ name, page }), {
      callId: "call-1",
      signal: new AbortController().signal,
      output: () => {},
      now: Date.now,
      notes: {
        add: () => Promise.reject(new Error("get_skill writes no notes")),
        list: () => Promise.resolve([]),
        update: () => Promise.resolve(undefined),
        remove: () => Promise.resolve(false),
      },
    });
  }

  test("gives the instructions with their own paths written out, the folder and the files", async () => {
    const tea = skill("tea", {
      instructions: "Run `python scripts/boil.py`, see [leaves](references/leaves.md).",
      resources: ["references/leaves.md", "scripts/boil.py"],
      expectedTools: "bash",
    });
    const { status, text } = await get([tea], " tea ");
    expect(status).toBe("ok");
    expect(text).toContain(
      "Run `python /skills/tea/scripts/boil.py`, see [leaves](/skills/tea/references/leaves.md).",
    );
    expect(text).toContain("\nIts folder is /skills/tea, read-only;");
    expect(text).toContain("\nFiles:\n- references/leaves.md\n- scripts/boil.py\n");
    expect(text).toContain("Tools that its author expects: bash");
    expect(text).not.toContain("secret-host-path");
  });

  test("finds a skill by its name however that is written, so that it can be loaded again", async () => {
    const skills = [skill("tea"), skill("Tea-2")];
    for (const name of ["/tea", "$tea", "TEA", "@tea"]) {
      expect((await get(skills, name)).text).toContain('<skill name="tea">');
    }
    expect((await get(skills, "tea-2")).text).toContain('<skill name="Tea-2">');
  });

  test("gives a long skill whole, in pages", async () => {
    const lines = Array.from(
      { length: 2_500 },
      (_, index) => `${index % 50 ? "" : "## "}Step ${index} of the work.`,
    );
    const long = [skill("tea", { instructions: lines.join("\n"), resources: ["a.txt"] })];
    const pages = [await get(long, "tea"), await get(long, "tea", 2)];
    const [first, second] = pages.map(({ text }) => text.split("\n"));
    expect(first?.[0]).toBe('<skill name="tea" page="1 of 2">');
    expect(first?.at(-1)).toBe("It goes on: load page 2 with get_skill before you follow it.");
    expect(second?.[1]).toMatch(/^## Step/);
    const shown = [...(first ?? []), ...(second ?? [])].filter((line) => /^(## )?Step /.test(line));
    expect(shown).toEqual(lines);
    expect(await get(long, "tea", 3)).toMatchObject({
      status: "error",
      text: "The skill tea has 2 pages; there is no page 3.",
    });
  });

  test("names the skills when there is none of that name", async () => {
    const result = await get([skill("tea"), skill("cake")], "coffee");
    expect(result).toEqual({
      status: "error",
      text: 'There is no skill "coffee". Skills: tea, cake.',
    });
  });

  test("finds skills by words of their names and descriptions, some of them when there are many", async () => {
    const green = skill("tea", { description: "Brews green leaves." });
    const red = skill("red-tea", { description: "Brews\nred leaves." });
    expect(await get([green, red, skill("cake")], "LEAVES brew")).toEqual({
      status: "error",
      text: [
        'There is no skill "LEAVES brew". These have the words:',
        "- tea: Brews green leaves.",
        "- red-tea: Brews red leaves.",
      ].join("\n"),
    });
    const teas = Array.from({ length: 22 }, (_, n) => skill(`tea-${n}`, { description: "x" }));
    expect((await get(teas, "tea")).text).toMatch(/- tea-19: x\n- and tea-20, tea-21$/);
  });

  test("does not list files without end", async () => {
    const resources = Array.from({ length: 250 }, (_, index) => `data/${index}.csv`);
    const { text } = await get([skill("tea", { resources })], "tea");
    expect(text).toContain("- data/99.csv\n- and 150 more, see: ls -R /skills/tea\n");
  });
});
