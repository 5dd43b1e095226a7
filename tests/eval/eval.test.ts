import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text as read } from "node:stream/consumers";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type EvalAgent, openEvalAgent } from "../../eval/agent.ts";
import { evaluate, findFault } from "../../eval/evaluate.ts";
import { formatHeading, formatResult, formatTotals } from "../../eval/report.ts";
import { type EvalTask, readTasks } from "../../eval/task.ts";
import { noUsage } from "../../src/agent/model.ts";
import { loadConfig } from "../../src/config/load.ts";
import { modelEnvironment } from "../e2e/environment.ts";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { scriptedModel } from "../fakes/scripted-model.ts";

// All tasks are checked by `npm run eval`; here one stands for them.

let folder: string;
let agent: EvalAgent;
let tasks: EvalTask[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "heddle-eval-test-"));
  chmodSync(folder, 0o711);
  agent = await openEvalAgent(loadConfig({}, folder), folder);
  tasks = await readTasks();
});
afterAll(async () => {
  await agent.close();
  rmSync(folder, { recursive: true, force: true });
});

function taskNamed(id: string): EvalTask {
  const task = tasks.find((candidate) => candidate.id === id);
  if (!task) throw new Error(`there is no task ${id}`);
  return task;
}

test("There are twenty tasks, each with something to do, a check and a solution", () => {
  expect(tasks).toHaveLength(20);
  for (const { id, title, ask, check, solution } of tasks) {
    expect([id, title, ask, check].every((text) => text.trim() !== "")).toBe(true);
    expect(solution.files.length > 0 || solution.command !== "").toBe(true);
  }
});

test("The check of a task fails before its reference solution and passes after it, done through the agent's own tools", async () => {
  expect(await findFault(agent, taskNamed("merge-conflict"))).toBeUndefined();
});

test("What a model says of its work does not count", async () => {
  const { model, requests } = scriptedModel([{ text: "All fixed, and every test passes." }]);
  const result = await evaluate(agent, taskNamed("dates"), model);
  expect(result).toMatchObject({ task: "dates", solved: false, end: "answered", steps: 1 });
  expect(result.why).toContain("ValueError: day is out of range for month");
  // It is asked as a person would, with the tools of a worker.
  expect(requests[0]?.messages.at(-1)).toMatchObject({ role: "user", text: taskNamed("dates").ask });
  expect(requests[0]?.tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["bash", "edit_file", "get_skill", "task"]),
  );
});

test("A task whose check passes from the start is told as faulty, and one that its solution does not solve", async () => {
  const task = { ...taskNamed("rename"), solution: { files: [], command: "true" } };
  expect(await findFault(agent, { ...task, id: "lenient", check: "true" })).toMatch(/passes before anything/);
  expect(await findFault(agent, { ...task, id: "strict", check: "echo never; false" })).toBe(
    "its check fails after its reference solution: never",
  );
});

test.each([
  [
    ["--only", "dates", "--out", "/nowhere/results.json"],
    /^--out \/nowhere\/results\.json cannot be written: ENOENT/,
  ],
  [["--olny", "dates"], /^Unknown option '--olny'/],
])("A command line that makes no sense is a sentence before a model is asked: %j", async (args, sentence) => {
  const service = await startFakeAnthropic({ replies: [] });
  onTestFinished(() => service.close());
  const run = resolve(import.meta.dirname, "../../eval/run.ts");
  const child = spawn(process.execPath, [run, ...args], {
    ...{ cwd: folder, stdio: ["ignore", "ignore", "pipe"] },
    env: { PATH: process.env["PATH"], ...modelEnvironment(service) },
  });
  const [said, [code]] = await Promise.all([read(child.stderr), once(child, "exit")]);
  expect({ code, said }).toEqual({ code: 2, said: expect.stringMatching(sentence) });
  expect(service.requests.filter(({ method }) => method === "POST")).toEqual([]);
});

test("An evaluation that is ended by Ctrl-C leaves nothing behind", async () => {
  const temporary = join(folder, "tmp");
  mkdirSync(temporary, { mode: 0o711 });
  const run = resolve(import.meta.dirname, "../../eval/run.ts");
  const child = spawn(process.execPath, [run], {
    ...{ cwd: folder, stdio: ["ignore", "pipe", "inherit"] },
    env: { PATH: process.env["PATH"], TMPDIR: temporary },
  });
  await once(child.stdout, "data");
  expect(readdirSync(temporary)).toHaveLength(1);
  child.kill("SIGINT");
  expect((await once(child, "exit"))[0]).toBe(130);
  expect(readdirSync(temporary)).toEqual([]);
});

test("The report aligns figures under their heading, and sums them up", () => {
  const usage = { ...noUsage, input: 900, cacheRead: 100, output: 50, cost: 0.0125 };
  const result = { task: "dates", solved: true, end: "answered", steps: 3, usage, ms: 4_200 } as const;
  const lines = [formatHeading(), formatResult(result), formatTotals([result, { ...result, solved: false }])];
  expect(`\n${lines.join("\n")}\n`).toMatchInlineSnapshot(`
    "
    task                               steps  tokens in      out       cost     time
    dates                solved            3       1000       50     $0.013    4.2 s
    2 tasks              1 solved          6       2000      100     $0.025    8.4 s
    "
  `);
});
