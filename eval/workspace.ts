import type { Sandbox } from "../src/sandbox/sandbox.ts";
import type { EvalTask, TaskFile } from "./task.ts";

const checkMs = 120_000;

/** Puts the task's files where the agent will find them. */
export async function prepareWorkspace(sandbox: Sandbox, task: EvalTask): Promise<void> {
  await writeFiles(sandbox, task.workspace);
  if (task.prepare) await runOrThrow(sandbox, task.prepare);
}

/** How the check sees the workspace: the last lines that it wrote, where the work is not done. */
export async function checkWorkspace(
  sandbox: Sandbox,
  task: EvalTask,
): Promise<{ solved: true } | { solved: false; said: string }> {
  // What the agent has left running must not do its work later than it says.
  await sandbox.killAll();
  await runOrThrow(sandbox, "rm -rf .check");
  const files = task.checkFiles.map(({ path, data }) => ({ path: `.check/${path}`, data }));
  await writeFiles(sandbox, files);
  const { end, exitCode, stdout, stderr } = await sandbox.exec({ command: task.check, timeoutMs: checkMs });
  if (end === "exit" && exitCode === 0) return { solved: true };
  const said = `${stdout.toString()}\n${stderr.toString()}`.trim().split("\n").slice(-5).join("\n");
  return { solved: false, said: end === "exit" ? said : `The check ended by ${end}. ${said}` };
}

async function writeFiles(sandbox: Sandbox, files: readonly TaskFile[]): Promise<void> {
  for (const { path, data } of files) {
    const written = await sandbox.writeFile(path, data);
    if (!written.ok) throw new Error(`${path} could not be written: ${written.message}`);
  }
}

/** Runs what must work for a task to make sense. */
export async function runOrThrow(sandbox: Sandbox, command: string): Promise<void> {
  const { end, exitCode, stderr, problem } = await sandbox.exec({ command });
  if (end === "exit" && exitCode === 0) return;
  throw new Error(problem ?? `A command of the evaluation failed (${exitCode ?? end}): ${stderr.toString()}`);
}
