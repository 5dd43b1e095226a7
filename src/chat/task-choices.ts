import type { InboundMessage } from "./inbound.ts";
import { findIncompletePrompt, findPromptProblem, type OfferedPrompt } from "./prompt-choice.ts";

/** What a person may choose with a task, in one place. */
export interface TaskChoices {
  models: readonly string[];
  skills: readonly string[];
  prompts: readonly OfferedPrompt[];
}

/**
 * Whether a task names what may not be chosen there: intake says so before anything is shown to others. For arguments of
 * a prompt that are missing it asks, in the thread of the task.
 */
export async function lacksChoice(
  { model, prompt }: NonNullable<InboundMessage["options"]>,
  find: () => Promise<TaskChoices>,
): Promise<boolean> {
  if (model === undefined && prompt === undefined) return false;
  const { models, prompts } = await find();
  const lacksPrompt =
    prompt !== undefined &&
    findPromptProblem(prompt, prompts) !== undefined &&
    !findIncompletePrompt(prompt, prompts);
  return lacksPrompt || (model !== undefined && !models.includes(model));
}
