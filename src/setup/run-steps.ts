import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ConfigError } from "../config/config-error.ts";
import type { SetupContext, StepResult } from "./context.ts";
import { SetupCancelled } from "./dialog.ts";

/** One part of the set-up, which can be left out and repeated. */
export interface SetupStep {
  title: string;
  run(context: SetupContext): Promise<StepResult>;
}

/**
 * Goes through the steps in their order, and says how each has ended. A step that fails says why, and the others go on.
 *
 * @throws SetupCancelled, ConfigError
 */
export async function runSteps(
  context: SetupContext,
  steps: readonly SetupStep[],
  folder: string,
): Promise<StepResult[]> {
  const { dialog } = context;
  const results: StepResult[] = [];
  for (const step of steps) {
    dialog.say(`\n${step.title}`);
    results.push(await runStep(step, context));
  }
  dialog.say("\nResult");
  for (const { state, text } of results) dialog.say(`  ${signs[state]} ${text}`);
  const warning = await findExposedEnv(folder);
  if (warning) dialog.say(`  ! ${warning}`);
  return results;
}

const signs: Record<StepResult["state"], string> = { ready: "✓", skipped: "·", waiting: "…", failed: "✗" };

async function runStep({ run }: SetupStep, context: SetupContext): Promise<StepResult> {
  try {
    return await run(context);
  } catch (error) {
    // What was under way when the person left fails in its own way.
    context.signal.throwIfAborted();
    if (error instanceof SetupCancelled || error instanceof ConfigError) throw error;
    if (!(error instanceof Error)) throw error;
    return { state: "failed", text: error.message };
  }
}

/** Whether a commit could take the secrets along. */
async function findExposedEnv(folder: string): Promise<string | undefined> {
  const path = join(folder, ".env");
  if (!existsSync(path)) return undefined;
  try {
    await promisify(execFile)("git", ["-C", folder, "check-ignore", "--quiet", path], { timeout: 5_000 });
  } catch (error) {
    // 1: not ignored. 128: no work tree. Otherwise there is no git.
    if (error instanceof Error && "code" in error && error.code === 1)
      return `${path} lies in a git work tree that does not ignore it: add .env to its .gitignore.`;
  }
  return undefined;
}
