import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const example = join(root, "examples/library.ts");
const source = readFileSync(example, "utf8");
const asPackage = source.replace("../src/agent/index.ts", "heddle/agent");
const answer = /^… weather\n[\s\S]*Ada, here is what I found: 21 °C and sunny in Oslo\.\n$/;

const run = promisify(execFile);

test("The example runs the agent as a library, with a tool of its own, in under 40 lines", async () => {
  const { stdout } = await run(process.execPath, [example], { cwd: resolve("/"), env: {}, timeout: 20_000 });
  expect(stdout).toMatch(answer);
  expect(source.trimEnd().split("\n").length).toBeLessThan(40);
});

test("The library's README shows this example as a project that has installed it would write it", () => {
  expect(readFileSync(join(root, "src/agent/README.md"), "utf8")).toContain(`\`\`\`ts\n${asPackage}\`\`\``);
});

/** All that the library may load or name in its types. That no other is linked shows that it asks for no other. */
const dependencies = ["zod", "yaml", "js-tiktoken", "openai", "@anthropic-ai/sdk"];
/** What the compiler needs beside them. */
const types = ["@types/node", "undici-types"];

const stranger = mkdtempSync(join(tmpdir(), "heddle-stranger-"));
const installed = join(stranger, "node_modules/heddle");

beforeAll(async () => {
  await run("npm", ["pack", "--offline", "--pack-destination", stranger], { cwd: root });
  mkdirSync(installed, { recursive: true });
  const archive = join(stranger, "heddle-0.1.0.tgz");
  await run("tar", ["--extract", "--file", archive, "--directory", installed, "--strip-components", "1"]);
  for (const name of [...dependencies, ...types]) {
    const link = join(stranger, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, "node_modules", name), link);
  }
  writeFileSync(join(stranger, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(stranger, "main.ts"), asPackage);
  cpSync(join(root, "examples/library"), join(stranger, "library"), { recursive: true });
}, 60_000);
afterAll(() => rmSync(stranger, { recursive: true, force: true }));

test("A project that has installed the package runs the example", async () => {
  const { stdout } = await run(process.execPath, ["main.ts"], { cwd: stranger, env: {}, timeout: 20_000 });
  expect(stdout).toMatch(answer);
});

test("The package loads every model service without the bot's own libraries", async () => {
  const script = `
    import { openModel } from "heddle/agent";
    const limits = { contextWindow: 100_000, maxOutput: 1_000 };
    const baseUrl = "http://127.0.0.1:1";
    for (const provider of ["anthropic", "openai"]) {
      const model = await openModel({ provider, model: "m", apiKey: "k", baseUrl }, { limits });
      console.log(model.id);
    }
    const demo = await openModel({ provider: "demo" });
    console.log(demo.id);
  `;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: stranger,
    timeout: 20_000,
  });
  expect(stdout.trim().split("\n")).toHaveLength(3);
});

test("A project in strict TypeScript compiles the example against the packed types", async () => {
  const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2024", "--types", "node"];
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = await run(process.execPath, [compiler, ...options, "main.ts"], { cwd: stranger }).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toBe("");
});
