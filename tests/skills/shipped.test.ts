import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createSkillLibrary } from "../../src/agent/skills/library.ts";
import { resolveSkillPaths } from "../../src/agent/skills/resolve-paths.ts";
import { runCommand, runScript, skillsFolder, workspace } from "./script.ts";

const { skills, problems } = await createSkillLibrary({ folders: [skillsFolder] }).current();
const scripts = skills.flatMap(({ name, resources }) =>
  resources.filter((path) => path.startsWith("scripts/")).map((path) => `${name}/${path}`),
);
const isShared = (path: string) => path.includes("/lib/");
const commands = scripts.filter((path) => !isShared(path));

test("the skills that ship with Heddle load without a flaw", () => {
  expect(problems).toEqual([]);
  expect(skills.map(({ name }) => name)).toEqual([
    "changelog",
    "csv-report",
    "diff-review",
    "log-triage",
    "meeting-notes",
    "repo-tour",
  ]);
});

describe.for(skills)("$name", ({ description, instructions, resources, mount }) => {
  test("names its files by paths that are there, as the model reads it", () => {
    const read = resolveSkillPaths(instructions, { mount, resources });
    expect(read).not.toContain("SKILL_DIR");
    const named = [...read.matchAll(/(\S*?)((?:scripts|references)\/[\w.-]+)/g)];
    for (const [, before = "", path = ""] of named) {
      expect([before.endsWith(`${mount}/`), resources.includes(path)]).toEqual([true, true]);
    }
  });

  test("says what it does and when to use it, briefly", () => {
    expect(description).toMatch(/ Use when /);
    expect(description.length).toBeLessThan(400);
    expect(instructions.split("\n").length).toBeLessThan(150);
  });

  test("mentions every file that it has, and only files that it has", () => {
    const mentioned = instructions.matchAll(/(?:scripts|references)\/[\w.-]+/g).map(([path]) => path);
    const shown = new Set(resources.filter((path) => !isShared(path)));
    expect(new Set(mentioned)).toEqual(shown);
  });
});

describe.for(commands)("%s", (script) => {
  test("explains itself, also when it is called by a relative path", async () => {
    const { code, stdout, stderr } = await runCommand(process.execPath, [script, "--help"], skillsFolder);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^usage: \w+\.mts /);
    expect(stderr).toBe("");
  });

  test("refuses a wrong call in one line that says where help is", async () => {
    const { code, stdout, stderr } = await runScript(script, ["--no-such-option"], workspace());
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^\w+\.mts: .*no-such-option.*; see \w+\.mts --help\n$/);
  });
});

test.for(scripts)("%s needs nothing but Node and what lies beside it", (script) => {
  const text = readFileSync(join(skillsFolder, script), "utf8");
  const imported = [...text.matchAll(/ from "([^"]+)"/g)].map(([, name = ""]) => name);
  expect(imported.filter((name) => !/^(?:node:|\.\/(?:lib\/)?[a-z-]+\.mts$)/.test(name))).toEqual([]);
});

test("what several skills have a copy of is the same in all of them", () => {
  const copies = Map.groupBy(scripts.filter(isShared), (path) => basename(path));
  const shared = ["command.mts", "git.mts", "lines.mts", "pattern.mts"];
  for (const name of shared) {
    const texts = copies.get(name)?.map((path) => readFileSync(join(skillsFolder, path), "utf8")) ?? [];
    expect([name, texts.length > 1, new Set(texts).size]).toEqual([name, true, 1]);
  }
});
