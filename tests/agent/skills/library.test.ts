import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createSkillLibrary } from "../../../src/agent/skills/library.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "heddle-skills-"));
  return () => rmSync(root, { recursive: true });
});

function write(path: string, content: string): string {
  const absolute = join(root, path);
  mkdirSync(dirname(absolute), { recursive: true });
  writeFileSync(absolute, content);
  return absolute;
}

const skill = (name: string, body = "Do it.") =>
  `---\nname: ${name}\ndescription: About ${name}.\n---\n${body}\n`;
const load = (folders = [root], pins = {}) => createSkillLibrary({ folders, pins }).current();
const namesIn = async (folders = [root]) => (await load(folders)).skills.map(({ name }) => name);

describe("skills are found", () => {
  test("with their instructions, their mount and their other files", async () => {
    write("tea/SKILL.md", skill("tea", "Boil water."));
    write("tea/scripts/boil.sh", "echo hot");
    write("tea/references/leaves.md", "green");
    write("tea/.cache/x", "");
    write("tea/node_modules/x/index.js", "");
    const { skills, problems } = await load();
    expect(problems).toEqual([]);
    expect(skills).toEqual([
      {
        name: "tea",
        description: "About tea.",
        expectedTools: "",
        instructions: "Boil water.",
        resources: ["references/leaves.md", "scripts/boil.sh"],
        folder: join(root, "tea"),
        mount: "/skills/tea",
      },
    ]);
  });

  test("in folders below folders, by links, with a small skill.md, and in the order of names", async () => {
    write("kitchen/drinks/tea/skill.md", skill("tea"));
    write("bread/SKILL.md", skill("bread"));
    const elsewhere = mkdtempSync(join(tmpdir(), "heddle-skills-"));
    onTestFinished(() => rmSync(elsewhere, { recursive: true }));
    writeFileSync(join(elsewhere, "SKILL.md"), skill("cake"));
    symlinkSync(elsewhere, join(root, "cake"));
    symlinkSync(root, join(root, "kitchen", "loop"));
    expect(await namesIn()).toEqual(["bread", "cake", "tea"]);
  });

  test("or said to be none, where a SKILL.md is a folder or a link that leads nowhere", async () => {
    write("tea/SKILL.md/notes.md", "green");
    mkdirSync(join(root, "cake"));
    symlinkSync(join(root, "gone"), join(root, "cake", "SKILL.md"));
    const { skills, problems } = await load();
    expect(skills).toEqual([]);
    const [cake, tea] = [join(root, "cake/SKILL.md"), join(root, "tea/SKILL.md")];
    expect(problems).toEqual([
      {
        path: cake,
        reason: `Skipped. ${cake} is a link to a file that does not exist; correct or remove it.`,
      },
      { path: tea, reason: `Skipped. ${tea} is a folder; put the file in its place.` },
    ]);
  });

  test("but not inside another skill", async () => {
    write("tea/SKILL.md", skill("tea"));
    write("tea/examples/cake/SKILL.md", skill("cake"));
    const { skills } = await load();
    expect(skills).toMatchObject([{ name: "tea", resources: ["examples/cake/SKILL.md"] }]);
  });
});

describe("what is wrong is told", () => {
  test("a faulty skill is skipped with its path and reason, and the others load", async () => {
    write("tea/SKILL.md", skill("tea"));
    const path = write("broken/SKILL.md", "# No front matter");
    const { skills, problems } = await load();
    expect(skills.map(({ name }) => name)).toEqual(["tea"]);
    expect(problems).toEqual([{ path, reason: expect.stringMatching(/^Skipped\. It has no front matter/) }]);
  });

  test("a flawed skill loads", async () => {
    const path = write("Tea/SKILL.md", skill("tea"));
    expect(await load()).toMatchObject({
      skills: [{ name: "tea" }],
      problems: [{ path, reason: "Loaded, with a flaw. Its name tea is not that of its folder, Tea." }],
    });
  });

  test("of two skills with one name the one in the earlier folder counts, and the other is named", async () => {
    const first = write("own/tea/SKILL.md", skill("tea", "ours"));
    const second = write("shipped/tea/SKILL.md", skill("tea", "theirs"));
    const set = await load([join(root, "own"), join(root, "shipped")]);
    expect(set.skills).toMatchObject([{ instructions: "ours" }]);
    expect(set.problems).toMatchObject([{ path: second, reason: expect.stringContaining(dirname(first)) }]);
  });

  test("a folder that is not there", async () => {
    const path = join(root, "nowhere");
    expect(await load([path])).toEqual({
      skills: [],
      problems: [{ path, reason: expect.stringMatching(/not exist/) }],
    });
  });
});

describe.each([
  ["that have just changed", 0],
  // Then it looks at less.
  ["that have not changed for long", 60_000],
])("a library follows the disk, with files %s", (_name, aheadMs) => {
  const open = (folders: readonly string[], pins = {}) =>
    createSkillLibrary({ folders, pins, now: () => Date.now() + aheadMs });

  test("and returns the same set while nothing changes", async () => {
    write("tea/SKILL.md", skill("tea"));
    const library = open([root]);
    const [one, two] = await Promise.all([library.current(), library.current()]);
    expect(two).toBe(one);
    expect(await library.current()).toBe(one);
  });

  test("when a skill appears, changes, gets a file and goes", async () => {
    const library = open([root]);
    const names = async () => (await library.current()).skills.map(({ name }) => name);
    expect(await names()).toEqual([]);
    const path = write("tea/SKILL.md", skill("tea", "one"));
    expect(await names()).toEqual(["tea"]);
    write("tea/SKILL.md", skill("tea", "two"));
    // As a copy that keeps times would leave it.
    utimesSync(path, 0, 0);
    expect((await library.current()).skills[0]?.instructions).toBe("two");
    write("tea/notes.md", "");
    expect((await library.current()).skills[0]?.resources).toEqual(["notes.md"]);
    rmSync(join(root, "tea"), { recursive: true });
    expect(await names()).toEqual([]);
  });

  test("when a file of a skill with a pin is written over", async () => {
    write("tea/SKILL.md", skill("tea"));
    write("tea/run.sh", "echo safe");
    const pin = /content is (sha256-\w+),/.exec(
      (await load([root], { tea: "?" })).problems[0]?.reason ?? "",
    )?.[1];
    const library = open([root], { tea: pin });
    expect((await library.current()).skills).toHaveLength(1);
    write("tea/run.sh", "echo evil");
    expect((await library.current()).skills).toEqual([]);
  });

  test("when a linked folder is replaced", async () => {
    write("one/SKILL.md", skill("tea", "one"));
    write("two/SKILL.md", skill("tea", "two"));
    mkdirSync(join(root, "skills"));
    const link = join(root, "skills", "tea");
    symlinkSync(join(root, "one"), link);
    const library = open([join(root, "skills")]);
    expect((await library.current()).skills[0]?.instructions).toBe("one");
    rmSync(link);
    symlinkSync(join(root, "two"), link);
    expect((await library.current()).skills[0]?.instructions).toBe("two");
  });

  test("when a missing folder is made", async () => {
    const library = open([join(root, "later")]);
    expect((await library.current()).problems).toHaveLength(1);
    mkdirSync(join(root, "later"));
    expect((await library.current()).problems).toEqual([]);
  });
});

describe("a pinned skill", () => {
  test("loads as long as no byte of it has changed", async () => {
    write("tea/SKILL.md", skill("tea"));
    write("tea/run.sh", "echo safe");
    const refused = await load([root], { tea: "sha256-?" });
    expect(refused.skills).toEqual([]);
    const pin = /content is (sha256-[0-9a-f]{64}),/.exec(refused.problems[0]?.reason ?? "")?.[1];
    expect(await load([root], { tea: pin })).toMatchObject({ skills: [{ name: "tea" }], problems: [] });
    write("tea/run.sh", "echo evil");
    expect((await load([root], { tea: pin })).skills).toEqual([]);
  });

  test.each([".lib.sh", ".lib/steep.sh", "node_modules/leaves/index.js"])(
    "is refused when a file changes that is not listed, as %s, which its commands find all the same",
    async (name) => {
      write("tea/SKILL.md", skill("tea"));
      write(`tea/${name}`, "echo safe");
      write("tea/.git/HEAD", "one");
      const refused = await load([root], { tea: "sha256-?" });
      const pin = /content is (sha256-[0-9a-f]{64}),/.exec(refused.problems[0]?.reason ?? "")?.[1];
      const library = createSkillLibrary({ folders: [root], pins: { tea: pin ?? "" } });
      write("tea/.git/HEAD", "two");
      expect((await library.current()).skills).toMatchObject([{ name: "tea", resources: [] }]);
      write(`tea/${name}`, "echo evil");
      expect((await library.current()).skills).toEqual([]);
    },
  );
});
