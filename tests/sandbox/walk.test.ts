import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { globToRegex, walkFunction } from "../../src/sandbox/walk.ts";

test.each([
  ["*.ts", ["a.ts", "src/a.ts"], ["a.tsx"]],
  ["src/**/*.{ts,js}", ["src/a.ts", "src/b/c.js"], ["a.ts", "src/a.css"]],
  ["[ab].ts", ["a.ts", "x/b.ts"], ["c.ts", "ab.ts"]],
  ["[!a-c]/*.md", ["d/x.md"], ["a/x.md", "dd/x.md"]],
  ["[^a]", ["b"], ["a"]],
  ["[]x].c", ["].c", "x.c"], ["y.c"]],
  ["x[!a]y", ["xby"], ["xay", "x/y"]],
  ["[z-a].ts", ["[z-a].ts"], ["z.ts"]],
  ["[.ts", ["[.ts"], ["a.ts"]],
  ["a?b", ["axb"], ["a/b"]],
])("The glob %s names what it names in a .gitignore", (glob, matching, others) => {
  const regex = new RegExp(globToRegex(glob));
  expect([...matching, ...others].filter((path) => regex.test(path))).toEqual(matching);
});

test("What a repository ignores is not even walked through", () => {
  const folder = mkdtempSync(join(tmpdir(), "heddle-walk-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const path of ["repo/dist/deep/er", "repo/src", "bin"])
    mkdirSync(join(folder, path), { recursive: true });
  writeFileSync(join(folder, "repo/.gitignore"), "dist\n");
  writeFileSync(join(folder, "repo/src/a.ts"), "");
  spawnSync("git", ["init", "-q", join(folder, "repo")]);
  // Tells what it was told to pass over, and does its work.
  writeFileSync(join(folder, "bin/find"), '#!/bin/sh\necho "$*" >>"$LOG"\nexec /usr/bin/find "$@"\n', {
    mode: 0o755,
  });
  const log = join(folder, "log");
  const env = { PATH: `${join(folder, "bin")}:/usr/bin:/bin`, LOG: log };
  const script = `${walkFunction}\nwalk "$1/repo" yes "" ""; cat "$LOG"`;
  const { stdout } = spawnSync("bash", ["-c", script, "bash", folder], { env, encoding: "utf8" });
  expect(stdout).toContain("f\t0\tsrc/a.ts\0");
  expect(stdout).not.toContain("\tdist");
  const calls = stdout.split("\n").filter((line) => line.includes("-printf"));
  expect(calls).toHaveLength(3);
  for (const call of calls) expect(call).toContain(`-o -path ${folder}/repo/dist`);
});
