import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { expect, test } from "vitest";
import { z } from "zod";

/** `npm run try:package` installs the package and starts it; this is what can be seen without building it. */

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

test("What is published holds the program, its skills and its schema, and nothing of a clone besides", () => {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts", "--offline"];
  const printed = execFileSync("npm", args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const packs = z.json().parse(JSON.parse(printed));
  // npm 11 gives a list, npm 12 a record.
  const [pack] = Object.values(
    z
      .record(z.string(), z.object({ files: z.array(z.object({ path: z.string() })) }))
      .parse({ ...(packs as object) }),
  );
  const paths = pack?.files.map(({ path }) => path) ?? [];
  expect(paths).toEqual(
    expect.arrayContaining([
      "LICENSE",
      "README.md",
      "package.json",
      "docs/heddle.schema.json",
      "heddle.example.yaml",
    ]),
  );
  expect(paths).toContain("skills/changelog/SKILL.md");
  const others = paths.filter((path) => !/^(dist\/|skills\/|LICENSE$|README\.md$|package\.json$)/.test(path));
  expect(others.toSorted()).toEqual([
    "docs/heddle.schema.json",
    "docs/images/icon.png",
    "heddle.example.yaml",
    "src/agent/README.md",
  ]);
});

test("npx finds the program, on every Node that there is", () => {
  const { bin, exports } = z
    .object({ bin: z.record(z.string(), z.string()), exports: z.record(z.string(), z.unknown()) })
    .parse(JSON.parse(read("package.json")));
  expect(bin).toEqual({ heddle: "dist/heddle.js" });
  expect(Object.keys(exports)).toEqual(["./agent", "./client"]);
  expect(read("src/heddle.js")).toMatch(/^#!\/usr\/bin\/env node\n/);
});

test("Every program that is started by its address is named so that the build finds it", () => {
  const sources = globSync("src/**/*.ts", { cwd: root }).filter((path) => !path.includes("console/page"));
  const named = sources.flatMap((path) =>
    [...read(path).matchAll(/new URL\(.*\.ts.*/g)].map(([call]) => `${path}: ${call}`),
  );
  expect(named.length).toBeGreaterThan(2);
  expect(named.filter((call) => !/new URL\("[^"]+\.ts", import\.meta\.url\)/.test(call))).toEqual([]);
});

test("No module has a top-level await, which would keep the bundler from merging files", () => {
  const sources = globSync("src/**/*.ts", { cwd: root }).filter((path) => !path.includes("console/page"));
  const waiting = sources.filter((path) => {
    const { program } = parseSync(path, read(path));
    let isWaiting = false;
    let depth = 0;
    const enter = () => void (depth += 1);
    const leave = () => void (depth -= 1);
    new Visitor({
      FunctionDeclaration: enter,
      FunctionExpression: enter,
      ArrowFunctionExpression: enter,
      "FunctionDeclaration:exit": leave,
      "FunctionExpression:exit": leave,
      "ArrowFunctionExpression:exit": leave,
      AwaitExpression: () => void (isWaiting ||= depth === 0),
      ForOfStatement: (loop) => void (isWaiting ||= depth === 0 && loop.await),
      VariableDeclaration: ({ kind }) => void (isWaiting ||= depth === 0 && kind === "await using"),
    }).visit(program);
    return isWaiting;
  });
  expect(waiting).toEqual([]);
});
