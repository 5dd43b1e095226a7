import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createSkillLibrary } from "../../src/agent/skills/library.ts";
import { runCommand, runScript, skillsFolder, workspace } from "./script.ts";

const { skills, problems } = await createSkillLibrary({ folders: [skillsFolder] }).current();
const scripts = skills.flatMap(({ name, resources }) =>
  resources.filter((path) => path.startsWith("scripts/")).map((path) => `${name}/${path}`),
);
const commands = scripts.filter((path) => !path.endsWith("lib.pl"));

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

describe.for(skills)("$name", ({ description, instructions, resources }) => {
  test("says what it does and when to use it, briefly", () => {
    expect(description).toMatch(/ Use when /);
    expect(description.length).toBeLessThan(400);
    expect(instructions.split("\n").length).toBeLessThan(150);
  });

  test("mentions every file that it has, and only files that it has", () => {
    const mentioned = instructions.matchAll(/(?:scripts|references)\/[\w.-]+/g).map(([path]) => path);
    const shown = new Set(resources.filter((path) => !path.endsWith("lib.pl")));
    expect(new Set(mentioned)).toEqual(shown);
  });
});

describe.for(commands)("%s", (script) => {
  test("explains itself, also when it is called by a relative path", async () => {
    const { code, stdout, stderr } = await runCommand("perl", [script, "--help"], skillsFolder);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^usage: \w+\.pl /);
    expect(stderr).toBe("");
  });

  test("refuses a wrong call in one line that says where help is", async () => {
    const { code, stdout, stderr } = await runScript(script, ["--no-such-option"], workspace());
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^\w+\.pl: .*no-such-option.*; see \w+\.pl --help\n$/);
  });
});

test.for(scripts)("%s needs only what every Debian has", async (script) => {
  const text = readFileSync(join(skillsFolder, script), "utf8");
  const modules = [...text.matchAll(/^use ([A-Z][\w:]*)/gm)].map(([, module]) => module);
  const base = ["Cwd", "File::Basename", "Getopt::Long", "List::Util", "POSIX"];
  expect(modules.filter((module) => !base.includes(module ?? ""))).toEqual([]);
  const { stderr } = await runCommand("perl", ["-c", join(skillsFolder, script)], workspace());
  expect(stderr).toMatch(/syntax OK\n$/);
  expect(stderr.split("\n")).toHaveLength(2);
});
