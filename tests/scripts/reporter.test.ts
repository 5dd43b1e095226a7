import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-report-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs one test file with vitest and our reporter. */
async function run(file: string, env: Record<string, string> = {}, ...args: string[]) {
  await writeFile(join(folder, "some.test.js"), file);
  await writeFile(
    join(folder, "vitest.config.mjs"),
    `export default { test: { globals: true, reporters: [${JSON.stringify(join(root, "tests/reporter.ts"))}] } };`,
  );
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const { CI: _ci, VITEST: _vitest, ...inherited } = process.env;
  return await new Promise<{ code: number | null; lines: string[] }>((resolve) => {
    const options = { cwd: folder, env: { ...inherited, NO_COLOR: "1", ...env } };
    const child = execFile(process.execPath, [vitest, "run", ...args], options, (_error, stdout) =>
      resolve({ code: child.exitCode, lines: stdout.trimEnd().split("\n") }),
    );
  });
}

const mixed = `
  test("works", () => {});
  describe("group", () => {
    test("needs a thing", (context) => context.skip("no thing here"));
    test.skip("is off", () => {});
  });`;

describe("the closing line of the tests", () => {
  test("counts, after the list of what was skipped and why", async () => {
    const { code, lines } = await run(mixed);
    expect(lines.slice(-3)).toEqual([
      "skipped: some.test.js > group > needs a thing: no thing here",
      "skipped: some.test.js > group > is off: no reason given",
      "1 passed, 0 failed, 2 skipped",
    ]);
    expect(code).toBe(0);
  });

  test("names what passed only at a second try", async () => {
    const { code, lines } = await run(`
      let tries = 0;
      test("flickers", { retry: 1 }, () => { if (tries++ === 0) throw new Error("not yet"); });`);
    expect(lines.slice(-2)).toEqual(["second try: some.test.js > flickers", "1 passed, 0 failed, 0 skipped"]);
    expect(code).toBe(0);
  });

  test("fails what is skipped in CI", async () => {
    const { code, lines } = await run(mixed, { CI: "true" });
    expect(lines.at(-1)).toBe("1 passed, 0 failed, 2 skipped");
    expect(lines.join("\n")).toContain("Install what these tests miss");
    expect(code).toBe(1);
  });

  test("does not count what a name pattern leaves out", async () => {
    const { code, lines } = await run(mixed, { CI: "true" }, "-t", "works");
    expect(lines.at(-1)).toBe("1 passed, 0 failed, 0 skipped");
    expect(code).toBe(0);
  });

  test("counts failed tests, broken groups and stray errors", async () => {
    const { code, lines } = await run(`
      test("fails", () => { throw new Error("no"); });
      describe("group", () => { beforeAll(() => { throw new Error("no"); }); test("never runs", () => {}); });
      test("strays", () => { Promise.reject(new Error("stray")); });`);
    expect(lines.at(-1)).toBe("1 passed, 3 failed, 1 skipped");
    expect(code).toBe(1);
  });

  test("counts a file that does not load", async () => {
    const { code, lines } = await run(`throw new Error("no");`);
    expect(lines.at(-1)).toBe("0 passed, 1 failed, 0 skipped");
    expect(code).toBe(1);
  });
});
