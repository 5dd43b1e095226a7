import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { supervisedMark } from "../../../src/app/process/supervised.ts";
import type { Pauses } from "../../../src/app/process/supervisor.ts";

const source = join(import.meta.dirname, "../../../src");
const main = join(source, "main.ts");

/** A program that says that it serves, and then does this. */
const serving = (then: string, hangMs = 30_000) => `
  import { endWithSupervisor, reportServing, startReporting } from "${join(source, "app/process/supervised.ts")}";
  endWithSupervisor();
  startReporting(${hangMs});
  reportServing();
  setInterval(() => undefined, 1_000);
  // Else it would be gone before its supervisor has read what it says.
  setTimeout(() => { ${then} }, 20);`;

/** A supervisor in a process of its own, and what it warned of. */
async function supervising(program: string, pauses: Pauses) {
  const folder = await mkdtemp(join(tmpdir(), "heddle-supervisor-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [entry, supervisor] = [join(folder, "program.mjs"), join(folder, "supervisor.mjs")];
  await writeFile(entry, program);
  await writeFile(
    supervisor,
    `import { supervise } from "${join(source, "app/process/supervisor.ts")}";
    const warn = (text) => console.log(text);
    const pauses = ${JSON.stringify(pauses)};
    process.exitCode = await supervise({ entry: "${entry}", args: [], pauses, warn });`,
  );
  const child = spawn(process.execPath, [supervisor], { stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    ended,
    async warnings(count: number) {
      const found: string[] = [];
      while (found.length < count) found.push(String((await lines.next()).value));
      return found;
    },
  };
}

const brief: Pauses = { firstMs: 10, longestMs: 40, servedMs: 60_000 };
const long: Pauses = { firstMs: 600_000, longestMs: 600_000, servedMs: 600_000 };

test.each([
  ["a signal that asks it to end", 'process.kill(process.pid, "SIGTERM")', [null, "SIGTERM"]],
  ["an exit in order", "process.exit(0)", [0, null]],
])("whoever supervises ends as its program does: by %s", async (_what, then, end) => {
  expect(await (await supervising(serving(then), brief)).ended).toEqual(end);
});

test("a program that could not start is not started again, and its code is passed on", async () => {
  expect(await (await supervising("process.exitCode = 7;", brief)).ended).toEqual([7, null]);
});

test.each([
  ['process.kill(process.pid, "SIGKILL")', /^A worker was killed \(SIGKILL: .*journalctl -k/],
  ['process.kill(process.pid, "SIGSEGV")', /^A worker crashed \(SIGSEGV\)/],
  ["process.abort()", /^A worker aborted \(SIGABRT: its heap was full/],
  ["process.exit(1)", /^A worker ended with code 1/],
])("a worker that dies of %s is started again, after pauses that grow", async (then, cause) => {
  const { warnings } = await supervising(serving(then), brief);
  const told = await warnings(5);
  for (const warning of told) expect(warning).toMatch(cause);
  expect(told.map((warning) => / ((?:in|at) \S+(?: s)?)\.$/.exec(warning)?.[1])).toEqual([
    "at once",
    "in 0.01 s",
    "in 0.02 s",
    "in 0.04 s",
    "in 0.04 s",
  ]);
});

test("a worker that is silent for as long as it has said is killed and started again", async () => {
  const { warnings } = await supervising(serving("for (;;);", 250), long);
  expect(await warnings(1)).toEqual([
    "A worker did not respond for 0.25 s, so it was killed; it is started again at once.",
  ]);
});

test("the supervisor of a worker loads nothing but itself", async () => {
  const folder = await mkdtemp(join(tmpdir(), "heddle-supervisor-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const hook = join(folder, "hook.mjs");
  await writeFile(
    hook,
    `import { registerHooks } from "node:module";
    const isWatched = process.env.${supervisedMark} === "1";
    registerHooks({ load: (url, context, next) => (isWatched || console.log(url), next(url, context)) });`,
  );
  // The program itself ends at once with what is wrong with its arguments.
  const child = spawn(process.execPath, ["--import", hook, main, "start", "--role", "cook"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [urls, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  expect(code).toBe(2);
  const files = urls.split("\n").filter((url) => url.startsWith("file:"));
  expect(files.map((url) => url.slice(url.indexOf("/src/") + 1)).toSorted()).toEqual([
    "src/agent/network/proxy-environment.ts",
    "src/app/process/supervised.ts",
    "src/app/process/supervisor.ts",
    "src/main.ts",
  ]);
});

test("a death after a while of serving costs no pause", async () => {
  const { warnings } = await supervising(serving("process.abort()"), { ...long, servedMs: 0 });
  for (const warning of await warnings(3)) expect(warning).toMatch(/ at once\.$/);
});

test("SIGTERM during the pause ends the supervisor at once", async () => {
  const { child, ended, warnings } = await supervising(serving("process.abort()"), long);
  expect((await warnings(2))[1]).toMatch(/ in 600 s\.$/);
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

/** How an orphan ended and what it said until nobody held its output any more. */
async function endOf(child: ChildProcess): Promise<unknown[]> {
  onTestFinished(() => void child.kill("SIGKILL"));
  const outputs = [child.stdout, child.stderr].filter((stream) => stream !== null);
  const said = Promise.all(outputs.map((stream) => text(stream)));
  const [code, signal] = (await once(child, "exit")) as unknown[];
  return [code ?? signal, (await said).join("")];
}

const supervised = { env: { ...process.env, HEDDLE_SUPERVISED: "1" } };

test("a worker without a supervisor ends before it has done anything", async () => {
  const child = spawn(process.execPath, [main, "start"], {
    ...supervised,
    stdio: ["ignore", "pipe", "pipe"],
  });
  expect(await endOf(child)).toEqual([1, ""]);
});

test("a worker whose supervisor dies before the worker's first line has run ends, too", async () => {
  const child = fork(main, ["start"], {
    ...supervised,
    execArgv: [],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  child.disconnect();
  expect(await endOf(child)).toEqual([expect.toBeOneOf([1, "SIGKILL"]), ""]);
});
