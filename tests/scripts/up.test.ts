import { spawnSync } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

/** deploy/up.sh in a folder like a fresh clone, with a program in the place of Docker Compose that notes its calls. */

const root = resolve(import.meta.dirname, "../..");

let clone: string;

beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), "heddle-up-"));
  await mkdir(join(clone, "deploy"));
  await copyFile(join(root, "deploy/up.sh"), join(clone, "deploy/up.sh"));
  await copyFile(join(root, ".env.example"), join(clone, ".env.example"));
});
afterEach(() => rm(clone, { recursive: true }));

/** @param answers a shell pattern of arguments to what the engine does when it is called with them */
async function up(answers: Record<string, string> = {}, env: Record<string, string> = {}) {
  // Nothing is wrong with the configuration unless a test says so.
  const all = { ...answers, "*misconfigured": "exit 1" };
  const cases = Object.entries(all).map(([pattern, does]) => `${pattern.replaceAll(" ", "\\ ")}) ${does} ;;`);
  const engine = ["#!/bin/sh", 'echo "$*" >>calls', 'case "$*" in', ...cases, "esac"].join("\n");
  await writeFile(join(clone, "engine"), engine);
  await chmod(join(clone, "engine"), 0o755);
  const { PATH = "" } = process.env;
  const ran = spawnSync("/bin/sh", ["deploy/up.sh"], {
    cwd: clone,
    env: { PATH, COMPOSE: "./engine", ...env },
    encoding: "utf8",
  });
  return { code: ran.status, output: ran.stdout, problems: ran.stderr };
}

const read = (path: string) => readFile(join(clone, path), "utf8");
const modeOf = async (path: string) => ((await stat(join(clone, path))).mode & 0o777).toString(8);
const tokenIn = (text: string) => /^HEDDLE_CONSOLE_TOKEN=(.*)$/m.exec(text)?.[1] ?? "";

test("on a fresh clone it makes what is missing, starts the stack, checks it and prints the console's address", async () => {
  const { code, output, problems } = await up({ "*doctor": "echo the findings" });
  expect([code, problems]).toEqual([0, ""]);
  const env = await read(".env");
  expect(tokenIn(env)).toMatch(/^[0-9a-f]{48}$/);
  expect(env).toContain("#ANTHROPIC_API_KEY=");
  expect([await modeOf(".env"), await modeOf("config")]).toEqual(["600", "755"]);
  const calls = (await read("calls")).split("\n").filter((line) => /^(build|up|exec.*doctor)/.test(line));
  expect(calls).toEqual([
    "build",
    "up --detach --force-recreate gateway worker",
    "exec -T worker heddle doctor",
  ]);
  expect(output).toMatch(/the findings\nThe console: http:\/\/127\.0\.0\.1:8420\/#token=[0-9a-f]{48}\n$/);
});

test("it keeps the token, the port and the keys that are in .env", async () => {
  await writeFile(join(clone, ".env"), 'HEDDLE_PORT=9000\nHEDDLE_CONSOLE_TOKEN="a-token-of-their-own"\n');
  const { output } = await up();
  expect(output).toContain("http://127.0.0.1:9000/#token=a-token-of-their-own\n");
  expect(await read(".env")).toBe('HEDDLE_PORT=9000\nHEDDLE_CONSOLE_TOKEN="a-token-of-their-own"\n');
});

test("it adds a token to an .env without one, also after a last line without an end", async () => {
  await writeFile(join(clone, ".env"), "HEDDLE_CONSOLE_TOKEN=\nANTHROPIC_API_KEY=sk-1", { mode: 0o644 });
  await up();
  expect(await read(".env")).toMatch(
    /^HEDDLE_CONSOLE_TOKEN=\nANTHROPIC_API_KEY=sk-1\nHEDDLE_CONSOLE_TOKEN=[0-9a-f]{48}\n$/,
  );
  expect(await modeOf(".env")).toBe("600");
});

test("what doctor finds wrong is its exit code, and the address is printed all the same", async () => {
  const { code, output } = await up({ "*doctor": "exit 1" });
  expect([code, output]).toEqual([1, expect.stringContaining("The console: http://")]);
});

test("a configuration that cannot be used ends it with the log and what to do", async () => {
  const { code, output, problems } = await up({
    "exec -T gateway test -e /tmp/misconfigured": "exit 0",
    "logs*": "echo heddle: heddle.yaml is wrong",
  });
  expect(code).toBe(1);
  expect(problems).toMatch(/heddle\.yaml is wrong\n.*correct what the log above names, and run this again/);
  expect(output).not.toContain("The console:");
});

test("a stack that cannot be built is not started", async () => {
  const { code } = await up({ build: "exit 3" });
  expect([code, await read("calls")]).toEqual([3, "build\n"]);
});

test("without Docker Compose it says what to install", async () => {
  await mkdir(join(clone, "bin"));
  await symlink("/usr/bin/dirname", join(clone, "bin/dirname"));
  const { code, problems } = await up({}, { COMPOSE: "", PATH: join(clone, "bin") });
  expect([code, problems]).toEqual([1, expect.stringContaining("there is no Docker Compose: install it")]);
});
