import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { repositoryWith, runCommand, runScript, workspace } from "./script.ts";

const script = "repo-tour/scripts/tour.mts";

const manifest = '{ "scripts": { "start": "node .", "test:unit": "vitest" } }\n';

const project = () =>
  repositoryWith([
    {
      subject: "Begin",
      tag: "v1.0.0",
      files: {
        "README.md": "# Tea\n",
        "package.json": manifest,
        "package-lock.json": "{}\n".repeat(500),
        "src/main.ts": "run();\n",
        "src/kettle/boil.ts": "boil();\n".repeat(40),
        "tests/boil.test.ts": "test();\n".repeat(10),
        ".github/workflows/ci.yml": "on: push\n",
        ".github/CODEOWNERS": "# owners\n/src/kettle @kettle-team\n",
        "logo.png": "\0\0\n\n\n",
      },
    },
    {
      subject: "Boil faster",
      author: "Bob",
      files: { "src/kettle/boil.ts": "boil(); // TODO measure\n".repeat(50) },
    },
    {
      subject: "Boil hotter",
      author: "Bob",
      files: { "src/kettle/boil.ts": "boil(100); // TODO measure\n".repeat(50) },
    },
  ]);

/** The lines of one section. */
function section(text: string, title: string): string[] {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.startsWith(title)) + 1;
  return lines.slice(start, lines.indexOf("", start)).map((line) => line.trim().replaceAll(/ {2,}/g, "  "));
}

describe("map", () => {
  test("shows what a repository consists of", async () => {
    const { stdout } = await runScript(script, ["map", await project()], workspace());
    expect(stdout).toMatch(
      /^main, 3 commits since 2026-11-01, last tag v1\.0\.0\nlast: 2026-11-03 [0-9a-f]+ Boil hotter\n/,
    );
    expect(section(stdout, "languages")[0]).toBe("TypeScript  61 lines  3 files  95.3%");
    expect(section(stdout, "folders")[0]).toBe("src/kettle/  50 lines  1 files  Bob (2), Ann (1)");
    expect(section(stdout, "commands")).toEqual(["package.json: npm run start, npm run test:unit"]);
    expect(section(stdout, "entry points")).toEqual(["src/main.ts"]);
    expect(section(stdout, "documents")).toEqual(["README.md"]);
    expect(section(stdout, "pipelines")).toEqual([".github/workflows/ci.yml"]);
    expect(section(stdout, "tests")).toEqual(["1 file in tests (1)"]);
    expect(section(stdout, "changed most")[0]).toBe("3x  src/kettle/boil.ts");
    expect(section(stdout, "open ends")).toEqual(["50 marks: src/kettle/boil.ts (50)"]);
    expect(stdout).toContain("1 generated or vendored file left out");
  });

  test("runs nothing that the repository has planted", async () => {
    const folder = await project();
    const program = join(folder, "planted.sh");
    writeFileSync(program, `#!/bin/sh\ntouch ${folder}/planted\n`, { mode: 0o755 });
    const git = async (...args: string[]) => (await runCommand("git", args, folder)).stdout.trim();
    // A signed commit, so that there is something to look at with the program for signatures.
    const [tree, parent] = [await git("rev-parse", "HEAD^{tree}"), await git("rev-parse", "HEAD")];
    const signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----";
    const who = "Ann <a@example.com> 1795000000 +0000";
    writeFileSync(
      join(folder, "commit.txt"),
      `tree ${tree}\nparent ${parent}\nauthor ${who}\ncommitter ${who}\n${signature}\n\nSign\n`,
    );
    await git("reset", "--soft", await git("hash-object", "-t", "commit", "-w", "commit.txt"));
    for (const [key, value] of [
      ["core.fsmonitor", program],
      ["log.showSignature", "true"],
      ["gpg.program", program],
    ] as const)
      await git("config", key, value);
    expect(await runScript(script, ["map", folder], workspace())).toMatchObject({ code: 0 });
    expect(existsSync(join(folder, "planted"))).toBe(false);

    // What is missing is said to be had from a program.
    const file = await git("rev-parse", "HEAD:README.md");
    rmSync(join(folder, ".git/objects", file.slice(0, 2), file.slice(2)));
    for (const [key, value] of [
      ["core.repositoryFormatVersion", "1"],
      ["extensions.partialClone", "origin"],
      ["remote.origin.promisor", "true"],
      ["remote.origin.url", folder],
      ["remote.origin.uploadpack", program],
    ] as const)
      await git("config", key, value);
    await runScript(script, ["who", folder, "README.md"], workspace());
    expect(existsSync(join(folder, "planted"))).toBe(false);
  });
});

describe("who", () => {
  test("lists who changed a folder, and its code owners", async () => {
    const { stdout } = await runScript(script, ["who", await project(), "src/kettle"], workspace());
    const lines = stdout.split("\n").map((line) => line.trim().split(/ {2,}/));
    expect(lines[1]).toEqual(["Bob", "2", "2", "100", "2026-11-02 2026-11-03"]);
    expect(lines[2]).toEqual(["Ann", "1", "1", "40", "2026-11-01 2026-11-01"]);
    expect(stdout).toContain(".github/CODEOWNERS\n  /src/kettle @kettle-team\n");
  });

  test("refuses a path that no commit knows", async () => {
    const { code, stderr } = await runScript(script, ["who", await project(), "nowhere"], workspace());
    expect(code).toBe(1);
    expect(stderr).toMatch(/^tour\.mts: no commit touches nowhere in /);
  });
});

test("a folder without a repository is refused", async () => {
  const { code, stderr } = await runScript(script, ["map", "."], workspace());
  expect(code).toBe(1);
  expect(stderr).toContain("tour.mts: . is no git repository with commits");
});
