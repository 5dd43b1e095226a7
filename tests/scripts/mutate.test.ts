import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { luaMutants } from "../../scripts/mutate/lua-mutants.ts";
import { applyMutant, type Mutant, sample } from "../../scripts/mutate/mutant.ts";
import { createTestMap } from "../../scripts/mutate/nearest-tests.ts";
import { typescriptMutants } from "../../scripts/mutate/typescript-mutants.ts";

const root = join(import.meta.dirname, "../..");

const applied = (source: string, mutants: readonly Mutant[]) =>
  mutants.map((mutant) => applyMutant(source, mutant));

/** A folder with these files, and the packages of this repository. */
function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "heddle-mutate-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

test("TypeScript is changed where it decides or acts, and its types and imports are not", () => {
  const source = `import a from "./a.ts";
type Few = 1 | 2;
export function f(list: number[], n: Few) {
  if (n < 2 && list.some(Boolean)) a(n as 1);
  return list.at(-1) ?? "none";
}`;
  const all = applied(source, typescriptMutants(source));
  for (const changed of [
    "if (n <= 2 && ",
    "if (n >= 2 && ",
    "if (n < 3 && ",
    "if (n < 2 || list",
    "if (!(n < 2 && list.some(Boolean))) a",
    "list.every(Boolean)",
    "(Boolean)) ;\n",
    "list.at(-2)",
    "return list.at(-1);",
    "  ;\n}",
  ])
    expect(all.filter((text) => text.includes(changed))).toHaveLength(1);
  for (const text of all) expect(text).toMatch(/^import a from ".\/a.ts";\ntype Few = 1 \| 2;.*as 1|;\n/s);
});

test("Lua is changed by operators, numbers and statements, and its comments are not", () => {
  const source = `-- and so on < 1
if a.at <= tonumber(ARGV[1]) and not b then
  redis.call("RPUSH", KEYS[1], b)
  return -1
end`;
  const all = applied(source, luaMutants(source));
  for (const changed of [
    "a.at < tonumber",
    "a.at > tonumber",
    "ARGV[2]",
    "or not b",
    "and  b",
    "if not (a.at <= tonumber(ARGV[1]) and not b) then",
    "then\n\n",
    '"LPUSH"',
    "return -2",
  ])
    expect(all.filter((text) => text.includes(changed))).toHaveLength(1);
  for (const text of all) expect(text).toMatch(/^-- and so on < 1\n/);
});

test("A sample is the same for the same seed, in order, and another for another seed", () => {
  const all = Array.from({ length: 100 }, (_, index) => index);
  const chosen = sample(all, 10, 1);
  expect(chosen).toEqual(sample(all, 10, 1));
  expect(chosen).toEqual(chosen.toSorted((a, b) => a - b));
  expect(chosen).not.toEqual(sample(all, 10, 2));
});

test("The tests of a file are those of its folder that import it, the nearest ones first; a script's are those of who loads it", () => {
  const files = {
    "src/queue/a.ts": 'const go = loadScript(new URL("scripts/go.lua", import.meta.url));\n',
    "src/queue/b.ts": 'import { a } from "./a.ts";\n',
    "src/queue/c.ts": 'import type { A } from "./a.ts";\n',
    "src/queue/scripts/go.lua": "-- @include time-ms\nreturn 1",
    "src/queue/redis/includes/time-ms.lua": "local function timeMs() end",
    "tests/queue/a.test.ts": 'import { a } from "../../src/queue/a.ts";\n',
    "tests/queue/b.test.ts": 'import {\n  b,\n} from "../../src/queue/b.ts";\n',
    "tests/queue/c.test.ts": 'import { c } from "../../src/queue/c.ts";\n',
    "tests/e2e/a.test.ts": 'import { a } from "../../src/queue/a.ts";\n',
  };
  const testsOf = createTestMap(folderWith(files), Object.keys(files));
  const tests = { near: ["tests/queue/a.test.ts"], far: ["tests/queue/b.test.ts"] };
  expect(testsOf("src/queue/a.ts")).toEqual(tests);
  expect(testsOf("src/queue/scripts/go.lua")).toEqual(tests);
  expect(testsOf("src/queue/redis/includes/time-ms.lua")).toEqual(tests);
});

test("What no test notices is told, with its line, and the tree stays as it is", async () => {
  const source =
    "export const limit = (n: number) => n > 9;\nexport const isNot = (given: boolean) => !given;\n";
  const folder = folderWith({
    "src/math/limit.ts": source,
    "tests/math/limit.test.ts": `import { expect, test } from "vitest";
import { isNot, limit } from "../../src/math/limit.ts";
test("limits", () => expect([limit(5), limit(20)]).toEqual([false, true]));
test("is not", () => expect(isNot(true)).toBe(false));
`,
    ".gitignore": "node_modules\n",
  });
  execFileSync("git", ["init", "--quiet"], { cwd: folder });
  const child = spawn(process.execPath, [join(root, "scripts/mutate/mutate.ts"), "src/math"], {
    cwd: folder,
  });
  let output = "";
  child.stdout.on("data", (chunk) => (output += String(chunk)));
  child.stderr.on("data", (chunk) => (output += String(chunk)));
  await once(child, "close");
  expect(output.split("\n").filter((line) => line.startsWith("survived"))).toEqual([
    "survived: src/math/limit.ts:1: export const limit = (n: number) => n > 9; → export const limit = (n: number) => n >= 9;",
    "survived: src/math/limit.ts:1: export const limit = (n: number) => n > 9; → export const limit = (n: number) => n > 10;",
    "survived: src/math/limit.ts:1: export const limit = (n: number) => n > 9; → export const limit = (n: number) => n > 8;",
  ]);
  expect(output).toMatch(/killed {3}src\/math\/limit\.ts:2: .*=> given;/);
  expect(output).toMatch(/^40 % of 5 killed$/m);
  expect(readFileSync(join(folder, "src/math/limit.ts"), "utf8")).toBe(source);
});

test("With --near the tests farther off are not asked", () => {
  const folder = folderWith({
    "src/math/a.ts": "export const isSmall = true;\n",
    "src/math/b.ts": 'export { isSmall } from "./a.ts";\n',
    "tests/math/a.test.ts":
      'import "../../src/math/a.ts";\nimport { test } from "vitest";\ntest("is there", () => {});\n',
    "tests/math/b.test.ts":
      'import { expect, test } from "vitest";\nimport { isSmall } from "../../src/math/b.ts";\ntest("is small", () => expect(isSmall).toBe(true));\n',
    ".gitignore": "node_modules\n",
  });
  execFileSync("git", ["init", "--quiet"], { cwd: folder });
  const mutate = join(root, "scripts/mutate/mutate.ts");
  const output = execFileSync(process.execPath, [mutate, "--near", "src/math/a.ts"], {
    cwd: folder,
    encoding: "utf8",
  });
  expect(output).toMatch(/^0 % of 1 killed$/m);
});
