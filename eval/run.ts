/**
 * `npm run eval`: small repository tasks for the configured model, through the real loop, tools and sandbox.
 * `--only id,id` some, `--most n` no more than n, `--model provider/model` another model, `--out file.json` the results.
 * Without a key nothing is evaluated: the tasks are checked.
 */
import { rmSync } from "node:fs";
import { chmod, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type LanguageModel, ModelError } from "../src/agent/model.ts";
import { openModels } from "../src/app/models/models.ts";
import { ConfigError } from "../src/config/config-error.ts";
import { type Config, loadConfig } from "../src/config/load.ts";
import { chooseModel } from "../src/config/model-choice.ts";
import { type EvalAgent, openEvalAgent } from "./agent.ts";
import { evaluate, findFault } from "./evaluate.ts";
import { formatHeading, formatResult, formatTotals, type Result } from "./report.ts";
import { type EvalTask, readTasks } from "./task.ts";
import { runOrThrow } from "./workspace.ts";

/** A command line that makes no sense. */
class UsageError extends Error {}

const print = (line: string) => process.stdout.write(`${line}\n`);

let values: ReturnType<typeof readOptions>;
try {
  values = readOptions();
  process.exitCode = await run();
} catch (error) {
  const isExpected = [ConfigError, ModelError, UsageError].some((kind) => error instanceof kind);
  if (!(error instanceof Error && isExpected)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}

/** @throws UsageError */
function readOptions() {
  const option = { type: "string" } as const;
  try {
    return parseArgs({ options: { only: option, most: option, model: option, out: option } }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** @returns the exit code: 1 when a task is faulty, or could not be evaluated */
async function run(): Promise<number> {
  const tasks = chooseTasks(await readTasks());
  const config = loadConfig(
    { ...process.env, ...(values.model !== undefined && { HEDDLE_MODEL: values.model }) },
    process.cwd(),
  );
  const model = await openConfiguredModel(config);
  const folder = await mkdtemp(join(tmpdir(), "heddle-eval-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  // The tasks that are done have been written.
  process.once("SIGINT", () => process.exit(130));
  // Commands may run as a user of their own, who has to reach what is in it.
  await chmod(folder, 0o711);
  const agent = await openEvalAgent(config, folder);
  try {
    if (agent.problem) {
      process.stderr.write(`Nothing can be evaluated without a sandbox. ${agent.problem}\n`);
      return 1;
    }
    await runOrThrow(await agent.open("tools"), "command -v node python3 git > /dev/null");
    return model ? await evaluateAll(agent, tasks, model) : await checkAll(agent, tasks);
  } finally {
    await agent.close();
  }
}

async function evaluateAll(
  agent: EvalAgent,
  tasks: readonly EvalTask[],
  model: LanguageModel,
): Promise<number> {
  const results: Result[] = [];
  // Before the first task, which costs something, and after each.
  await writeResults(model, results);
  print(`${model.id}\n\n${formatHeading()}`);
  for (const task of tasks) {
    const result = await evaluate(agent, task, model);
    results.push(result);
    print(formatResult(result));
    if (result.why) print(result.why.replaceAll(/^/gm, "    "));
    await writeResults(model, results);
  }
  print(`\n${formatTotals(results)}`);
  return results.some(({ end }) => end === "model-error") ? 1 : 0;
}

/** @throws UsageError */
async function writeResults({ id: model }: LanguageModel, results: readonly Result[]): Promise<void> {
  if (values.out === undefined) return;
  try {
    await writeFile(values.out, `${JSON.stringify({ model, results }, undefined, 2)}\n`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--out ${values.out} cannot be written: ${why}.`);
  }
}

async function checkAll(agent: EvalAgent, tasks: readonly EvalTask[]): Promise<number> {
  let sound = 0;
  for (const task of tasks) {
    const fault = await findFault(agent, task);
    if (fault === undefined) sound += 1;
    print(`${fault === undefined ? "✓" : "!"} ${task.id}: ${fault ?? task.title}`);
  }
  print(`\nno key: ${sound} of ${tasks.length} tasks check out; nothing was evaluated`);
  return sound === tasks.length ? 0 : 1;
}

/** The first model of the configuration, without others to fall back on; undefined where only the demo is there. */
async function openConfiguredModel(config: Config): Promise<LanguageModel | undefined> {
  if (chooseModel(config).provider === "demo") return undefined;
  const alone = { ...config.settings, fallbackModels: [], modelChoices: [], channels: {} };
  const warn = (context: unknown, text?: string) => process.stderr.write(`${text ?? String(context)}\n`);
  return (await openModels({ ...config, settings: alone }, { warn })).model;
}

function chooseTasks(all: readonly EvalTask[]): EvalTask[] {
  const wanted = values.only?.split(",");
  const unknown = wanted?.filter((id) => !all.some((task) => task.id === id)) ?? [];
  if (unknown.length > 0) {
    const known = all.map(({ id }) => id).join(", ");
    throw new UsageError(`--only ${unknown.join(",")}: there is no such task; expected some of ${known}.`);
  }
  const most = Number(values.most ?? all.length);
  if (!Number.isInteger(most) || most < 1) {
    throw new UsageError(`--most ${values.most}: expected a whole number above 0.`);
  }
  return all.filter(({ id }) => wanted?.includes(id) ?? true).slice(0, most);
}
