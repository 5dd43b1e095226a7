import type { LanguageModel } from "../src/agent/model.ts";
import type { EvalAgent } from "./agent.ts";
import { createReferenceSolver } from "./reference-solver.ts";
import type { Result } from "./report.ts";
import type { EvalTask } from "./task.ts";
import { checkWorkspace, prepareWorkspace } from "./workspace.ts";

/** Has a model do a task, and looks at the workspace afterwards: what the model says of its work does not count. */
export async function evaluate(agent: EvalAgent, task: EvalTask, model: LanguageModel): Promise<Result> {
  const sandbox = await agent.open(task.id);
  await prepareWorkspace(sandbox, task);
  const startedAt = performance.now();
  const outcome = await agent.work(task.id, task.ask, model);
  const ms = performance.now() - startedAt;
  const checked = await checkWorkspace(sandbox, task);
  const { kind: end, steps, usage } = outcome;
  const ended = end === "model-error" || end === "refused" ? outcome.text : "";
  return {
    ...{ task: task.id, solved: checked.solved, end, steps, usage, ms },
    ...(!checked.solved && { why: ended || checked.said }),
  };
}

/** What is wrong with a task, one sentence; undefined when its check fails before its reference solution and passes after it. */
export async function findFault(agent: EvalAgent, task: EvalTask): Promise<string | undefined> {
  const before = await agent.open(`${task.id}-before`);
  await prepareWorkspace(before, task);
  if ((await checkWorkspace(before, task)).solved) return "its check passes before anything is done";
  const { solved, why } = await evaluate(agent, task, createReferenceSolver(task));
  return solved ? undefined : `its check fails after its reference solution: ${why}`;
}
